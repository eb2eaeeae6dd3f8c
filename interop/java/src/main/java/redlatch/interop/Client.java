package redlatch.interop;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;

/** A Redisson client, which has an UUID of its own, and the threads that use it. */
final class Client {
    private final RedissonClient redisson;
    private final Map<Integer, Worker> workers = new ConcurrentHashMap<>();

    Client(Command command) {
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(4).setNettyThreads(4);
        config.setLockWatchdogTimeout(command.watchdog);
        if (command.fairWait > 0) {
            setFairWait(config, command.fairWait);
        }
        if (command.address.startsWith(CLUSTER)) {
            useCluster(config, command.address.substring(CLUSTER.length()));
        } else {
            config.useSingleServer()
                    .setAddress(command.address)
                    .setTimeout(SLOW)
                    .setConnectionMinimumIdleSize(2)
                    .setConnectionPoolSize(16)
                    .setSubscriptionConnectionMinimumIdleSize(1)
                    .setSubscriptionConnectionPoolSize(16);
        }
        redisson = Redisson.create(config);
    }

    /** Milliseconds that a busy machine may take to answer. Redisson sends a command again after that. */
    private static final int SLOW = 20_000;

    private static final String CLUSTER = "redis+cluster://";

    private static void useCluster(Config config, String nodes) {
        ClusterServersConfig cluster = config.useClusterServers()
                .setTimeout(SLOW)
                .setMasterConnectionMinimumIdleSize(2)
                .setMasterConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(16);
        for (String node : nodes.split(",")) {
            cluster.addNodeAddress("redis://" + node);
        }
    }

    /** Releases before 3.46 have no such setting, and always wait five minutes. */
    private static void setFairWait(Config config, long millis) {
        try {
            Config.class.getMethod("setFairLockWaitTimeout", long.class).invoke(config, millis);
        } catch (NoSuchMethodException e) {
            // The wait time of the single call counts there.
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    String id() {
        return redisson.getId();
    }

    void take(Command command, Consumer<Answer> reply) {
        Worker worker = workers.computeIfAbsent(command.thread, n -> new Worker(redisson));
        if (command.verb.equals("parked")) {
            // Not in the worker's own thread: that one is the one in question.
            Answer answer = new Answer();
            answer.id = command.id;
            answer.ok = worker.parked();
            reply.accept(answer);
            return;
        }
        worker.take(command, reply);
    }

    void close() {
        redisson.shutdown();
        workers.values().forEach(Worker::close);
    }
}
