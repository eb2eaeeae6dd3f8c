package redlatch.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * The memory of holds and of waiters. The heap is resident as a whole from the start, so that what
 * the process grows by otherwise is the stacks of threads.
 */
final class Footprint {
    private final RedissonClient redisson;
    private final Order order;

    Footprint(RedissonClient redisson, Order order) {
        this.redisson = redisson;
        this.order = order;
    }

    Report run(Contestant.Start ready) throws Exception {
        RLock first = redisson.getLock(order.Name + ":first");
        first.lock();
        first.unlock();
        ready.await();
        Report report = new Report();
        report.Memory = new Report.Memory();
        List<RLock> held = new ArrayList<>();
        long before = used();
        for (int i = 0; i < order.Workers; i++) {
            RLock lock = redisson.getLock(order.Name + ":own:" + i);
            lock.lock();
            held.add(lock);
        }
        report.Memory.Hold = (used() - before) / (double) order.Workers;

        before = used();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < order.Workers; i++) {
            RLock lock = redisson.getLock(order.Name + ":own:" + i % order.Locks);
            Thread thread = new Thread(() -> waitFor(lock));
            thread.start();
            threads.add(thread);
        }
        report.Memory.Waiter = (settled(threads) - before) / (double) order.Workers;
        threads.forEach(Thread::interrupt);
        for (Thread thread : threads) {
            thread.join();
        }
        held.forEach(RLock::unlock);
        return report;
    }

    private static void waitFor(RLock lock) {
        try {
            lock.lockInterruptibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until all threads are parked for a while, and returns what is used then. */
    private static long settled(List<Thread> threads) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        int calm = 0;
        while (calm < 10) {
            boolean parked = threads.stream().allMatch(t -> t.getState() == Thread.State.TIMED_WAITING);
            calm = parked ? calm + 1 : 0;
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("not all threads wait");
            }
            Thread.sleep(100);
        }
        return used();
    }

    /** The used part of the heap, and all that is resident outside of it. */
    private static long used() throws IOException {
        System.gc();
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return resident() - runtime.freeMemory();
    }

    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        throw new IOException("no resident size");
    }
}
