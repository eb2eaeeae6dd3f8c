package redlatch.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Locks that are held, or waited for, while nothing changes; the same as idle.go. */
final class Idleness {
    private final RedissonClient redisson;
    private final Order order;

    Idleness(RedissonClient redisson, Order order) {
        this.redisson = redisson;
        this.order = order;
    }

    Report hold(Contestant.Start ready) throws Exception {
        List<RLock> held = new ArrayList<>();
        for (int i = 0; i < order.Locks; i++) {
            RLock lock = lock(i);
            lock.lock();
            held.add(lock);
        }
        Clock.sleepUntil(ready.await() + order.For);
        held.forEach(RLock::unlock);
        return new Report();
    }

    Report await(Contestant.Start ready) throws Exception {
        long began = ready.await();
        Clock.sleepUntil(began + order.WarmUp);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < order.Workers; i++) {
            RLock lock = lock(i % order.Locks);
            Thread thread = new Thread(() -> waitFor(lock, began + order.For));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return new Report();
    }

    private RLock lock(int i) {
        return redisson.getLock(order.Name + ":" + i);
    }

    private static void waitFor(RLock lock, long until) {
        try {
            lock.tryLock(until - Clock.now(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
