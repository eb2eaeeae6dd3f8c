package redlatch.interop;

import org.redisson.api.RBucket;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * What a lock is to guard: a counter that is read, slept on and written, between two
 * entries in a journal. Two at a time lose a step of the counter. A multi-lock guards one
 * such thing for each of its members.
 */
final class Section {
    private final RedissonClient redisson;

    Section(RedissonClient redisson) {
        this.redisson = redisson;
    }

    void run(Command command, String owner) throws InterruptedException {
        String who = (command.shared ? "S " : "X ") + owner + " " + command.op;
        String[] names = command.names();
        long[] before = new long[names.length];

        for (int i = 0; i < names.length; i++) {
            note(names[i], "enter " + who + (command.token > 0 ? " " + command.token : ""));
            before[i] = count(names[i]);
        }
        Thread.sleep(command.work);
        for (int i = 0; i < names.length; i++) {
            long after = command.shared ? count(names[i]) : before[i] + 1;
            if (!command.shared) {
                counter(names[i]).set(Long.toString(after));
            }
            note(names[i], "leave " + who + " " + before[i] + " " + after);
        }
    }

    private void note(String name, String line) {
        redisson.<String>getList(name + ":journal", StringCodec.INSTANCE).add(line);
    }

    private RBucket<String> counter(String name) {
        return redisson.getBucket(name + ":counter", StringCodec.INSTANCE);
    }

    private long count(String name) {
        String text = counter(name).get();
        return text == null ? 0 : Long.parseLong(text);
    }
}
