package foreign;

import foreign.ISession;
import foreign.IVisitor;

/** The service. */
interface IHost {
    String greet(String name);
    byte[] mirror(in byte[] bytes);
    int[] reverse(in int[] numbers);
    String[] shout(in String[] words);

    /** What the driver says of the caller. */
    int callerPid();
    int callerUid();

    /** A new object of the host, and the host's word on whether it knows one that comes back. */
    ISession openSession(String name);
    @nullable String recognise(ISession session);

    /** The caller's own object, there and back. */
    IBinder giveBack(IBinder object);

    /**
     * Calls `visitor.nest` unless `depth` is used up; returns the number of calls made from here on.
     * Both objects are passed along, so each side gets its own back in every call.
     */
    int nest(IHost host, IVisitor visitor, int depth);

    /** Tells the visitor 0, 1 .. `count` - 1, each by a one-way call. */
    oneway void tell(IVisitor visitor, int count);

    /** Keeps the visitor, so that other clients can find it. */
    void admit(String name, IVisitor visitor);
    @nullable IVisitor find(String name);

    /** Returns once the host has been notified of the death of the visitor it admitted under `name`. */
    void awaitDeparture(String name);

    /** Fail with a service-specific error and with an exception. */
    void refuse(int code, String reason);
    void reject(String reason);

    /** The reading end of a pipe that holds `text`. */
    ParcelFileDescriptor lend(String text);

    /** Writes `text` into the caller's file. */
    void fill(in ParcelFileDescriptor file, String text);
}
