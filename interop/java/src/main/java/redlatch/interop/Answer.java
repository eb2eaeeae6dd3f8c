package redlatch.interop;

/** One line of output: what became of the command with the same id. */
final class Answer {
    long id;
    boolean ok;
    long value;

    /** contend: the longest wait, in microseconds. */
    long longest;

    /** The owner under which the thread stands in Redis. */
    String owner;

    /** Empty, "LOST" where the lock was not held, or the exception. */
    String error = "";

    /** When the verb was called and when it had returned, in microseconds of wall time. */
    long from;
    long at;
}
