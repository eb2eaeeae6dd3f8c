package redlatch.interop;

/** One line of input: what a thread of a client is to do. Times are milliseconds. */
final class Command {
    long id;
    String verb;

    /** Which client, and which of its threads. */
    String client;
    int thread;

    /** Of a semaphore or a latch: how many permits, or the count. */
    int count;

    /** The lock: its kind is one of mutex, spin, fenced, fair, read, write, multi; or semaphore, permits, latch. */
    String kind;

    /** Of a multi-lock, the names of its members with a + between them. */
    String name;

    /** How long to wait; negative: without end for lock, not at all for tryLock. */
    long wait = -1;

    /** A fixed lease; negative: renewed. */
    long lease = -1;

    /** open: the server, and the two settings that tests vary. */
    String address;
    long watchdog;
    long fairWait;

    /** contend: for how long to go on, and how long a section takes, in microseconds. */
    long span;
    long each;

    String[] names() {
        return name.split("\\+");
    }
}
