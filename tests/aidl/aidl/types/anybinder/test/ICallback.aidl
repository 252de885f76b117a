package anybinder.test;
interface ICallback {
    int ask(int question);
    oneway void notice(int number);
}
