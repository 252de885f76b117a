package foreign;

/** An object that the host hands out, one per caller that asks. */
interface ISession {
    String name();

    /** One-way calls on one object arrive in the order in which they were sent. */
    oneway void post(int number);

    /** Returns the posted numbers, in order of arrival, once there are `count` of them. */
    int[] awaitPosted(int count);
}
