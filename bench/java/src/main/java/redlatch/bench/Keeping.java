package redlatch.bench;

import java.util.ArrayList;
import java.util.List;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Locks that are held until the process ends; the same as keep in crowd.go. */
final class Keeping {
    private static final List<RLock> HELD = new ArrayList<>();

    private Keeping() {
    }

    static Report run(RedissonClient redisson, Order order, Contestant.Start ready) throws Exception {
        Report report = new Report();
        if (order.Weigh) {
            Memory.weigh(report);
        }
        for (int i = 0; i < order.Workers; i++) {
            RLock lock = redisson.getLock(order.lock(i));
            lock.lock();
            HELD.add(lock);
        }
        long counts = ready.await() + order.WarmUp;
        Clock.sleepUntil(counts);
        if (order.Weigh) {
            Memory.weigh(report);
        }
        Clock.sleepUntil(counts + order.For);
        return report;
    }
}
