package redlatch.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** One slice of locks and unlocks, each thread its own name; the same as track.go. */
final class Pairs {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private enum Phase { WARMING_UP, COUNTING, OVER }

    private final RedissonClient redisson;
    private final Order order;
    private final CountDownLatch start = new CountDownLatch(1);
    private final LongAdder inside = new LongAdder();
    private final LongAdder pairs = new LongAdder();
    private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
    private volatile Phase phase = Phase.WARMING_UP;

    Pairs(RedissonClient redisson, Order order) {
        this.redisson = redisson;
        this.order = order;
    }

    Report run(Contestant.Start ready) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < order.Workers; i++) {
            RLock lock = redisson.getLock(order.lock(i));
            Thread thread = new Thread(() -> work(lock));
            thread.start();
            threads.add(thread);
        }
        System.gc(); // as the others do
        ready.await();
        Report report = new Report();
        report.Slice = new Report.Slice();
        long cpu = SYSTEM.getProcessCpuTime();
        start.countDown();
        Clock.sleepUntil(Clock.now() + order.WarmUp);
        phase = Phase.COUNTING;
        long began = System.nanoTime();
        Clock.sleepUntil(Clock.now() + order.For);
        phase = Phase.OVER;
        report.Slice.Window = System.nanoTime() - began;
        for (Thread thread : threads) {
            thread.join();
        }
        report.Slice.CPU = SYSTEM.getProcessCpuTime() - cpu;
        report.Slice.Inside = inside.sum();
        report.Slice.Pairs = pairs.sum();
        if (failure.get() != null) {
            throw failure.get();
        }
        return report;
    }

    private void work(RLock lock) {
        try {
            start.await();
            while (phase != Phase.OVER) {
                lock.lock();
                lock.unlock();
                pairs.increment();
                if (phase == Phase.COUNTING) {
                    inside.increment();
                }
            }
        } catch (InterruptedException e) {
            failure.set(new IllegalStateException(e));
        } catch (RuntimeException e) {
            failure.set(e);
        }
    }
}
