package redlatch.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Threads that contend for one lock; the same as contend.go. */
final class Contention {
    /** Whoever waits at the end may go on for this long. */
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

    /** The shortest section; a shorter one would hide that two are in it. */
    private static final long SHORTEST = TimeUnit.MICROSECONDS.toNanos(2);

    /** Threads sleep in a section of this length. In Go a shorter sleep takes as long. */
    private static final long LONG = TimeUnit.MILLISECONDS.toNanos(1);

    private final RedissonClient redisson;
    private final Order order;
    private final Report report = new Report();
    private Exception failure;

    Contention(RedissonClient redisson, Order order) {
        this.redisson = redisson;
        this.order = order;
    }

    Report run(Contestant.Start ready) throws Exception {
        System.gc();
        long counts = ready.await() + order.WarmUp;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < order.Workers; i++) {
            RLock lock = redisson.getLock(order.lock(i));
            int worker = i;
            Thread thread = new Thread(() -> work(lock, worker, counts + order.For));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure != null) {
            throw failure;
        }
        return report;
    }

    private void work(RLock lock, int worker, long until) {
        List<Report.Hold> holds = new ArrayList<>((1 << 18) / order.Workers);
        Exception wrong = null;
        try {
            hold(lock, worker, until, holds);
        } catch (InterruptedException | RuntimeException e) {
            wrong = e;
        }
        synchronized (this) {
            report.Holds.addAll(holds);
            failure = wrong == null ? failure : wrong;
        }
    }

    private void hold(RLock lock, int worker, long until, List<Report.Hold> holds) throws InterruptedException {
        for (long asked = Clock.now(); asked < until; asked = Clock.now()) {
            Report.Hold hold = new Report.Hold();
            hold.p = order.Process;
            hold.w = worker;
            hold.a = asked;
            // The same as lock(), except that it ends if nobody serves it.
            hold.s = !lock.tryLock(until + PATIENCE + order.Patience - asked, TimeUnit.NANOSECONDS);
            hold.g = Clock.now();
            hold.r = hold.g;
            holds.add(hold);
            if (hold.s) {
                return;
            }
            if (order.Section >= LONG) {
                Clock.sleepUntil(hold.g + order.Section);
            }
            while (hold.r - hold.g < Math.max(order.Section, SHORTEST)) {
                hold.r = Clock.now();
            }
            lock.unlock();
        }
    }
}
