package redlatch.bench;

import java.util.ArrayList;
import java.util.List;

/** One line of output: what came of an order; see order.go. */
final class Report {
    String Error;
    List<Hold> Holds = new ArrayList<>();
    Slice Slice;

    /** One time that one worker held the contended lock, in nanoseconds of the machine's clock. */
    static final class Hold {
        int p;
        int w;
        long a;
        long g;
        long r;
        boolean s;
    }

    /** What one slice of pairs came to. */
    static final class Slice {
        long Inside;
        long Pairs;
        long Window;
        long CPU;
    }
}
