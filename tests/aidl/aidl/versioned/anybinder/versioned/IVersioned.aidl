package anybinder.versioned;
import anybinder.versioned.Growing;
interface IVersioned {
    int first(int value);
    Growing second(in Growing value);
}
