package foreign;

import foreign.IHost;

/** An object of the client, called back by the host and by other clients. */
interface IVisitor {
    String name();

    /** Calls `host.nest` unless `depth` is used up; returns the number of calls made from here on. */
    int nest(IHost host, IVisitor visitor, int depth);

    oneway void tell(int number);
}
