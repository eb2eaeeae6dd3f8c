package redlatch.bench;

/** One line of input: what this process is to do. Times are nanoseconds; see order.go. */
final class Order {
    String Task;
    String Address;
    String Name;
    long For;
    long WarmUp;
    int Process;
    int Workers;
    int Locks;
    long Section;
    long Patience;

    /** The name that a worker locks. */
    String lock(int worker) {
        return Name + ":" + worker % Locks;
    }
}
