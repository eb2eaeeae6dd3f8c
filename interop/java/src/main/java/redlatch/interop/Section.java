package redlatch.interop;

import org.redisson.api.RBucket;
import org.redisson.api.RList;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * What a lock is to guard: a counter that is read, slept on and written, between two
 * entries in a journal. Two at a time lose a step of the counter.
 */
final class Section {
    private final RedissonClient redisson;

    Section(RedissonClient redisson) {
        this.redisson = redisson;
    }

    /** Returns the counter as it was left. */
    long run(Command command, String owner) throws InterruptedException {
        RList<String> journal = redisson.getList(command.name + ":journal", StringCodec.INSTANCE);
        RBucket<String> counter = redisson.getBucket(command.name + ":counter", StringCodec.INSTANCE);
        String who = (command.shared ? "S " : "X ") + owner + " " + command.op;

        journal.add("enter " + who);
        long before = count(counter);
        Thread.sleep(command.work);
        long after = command.shared ? count(counter) : before + 1;
        if (!command.shared) {
            counter.set(Long.toString(after));
        }
        journal.add("leave " + who + " " + before + " " + after);
        return after;
    }

    private static long count(RBucket<String> counter) {
        String text = counter.get();
        return text == null ? 0 : Long.parseLong(text);
    }
}
