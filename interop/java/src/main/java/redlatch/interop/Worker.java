package redlatch.interop;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** One thread of a client. Redisson knows the holder of a lock by its thread. */
final class Worker {
    private final RedissonClient redisson;
    private final ExecutorService queue;
    private final Counters counters;

    // One object for each lock, as a program would have it in a field.
    private final Map<String, RLock> locks = new HashMap<>();
    private volatile Thread thread;
    private volatile Command current;

    Worker(RedissonClient redisson) {
        this.redisson = redisson;
        this.counters = new Counters(redisson);
        this.queue = Executors.newSingleThreadExecutor(task -> {
            thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
    }

    void take(Command command, Consumer<Answer> reply) {
        queue.execute(() -> reply.accept(run(command)));
    }

    void close() {
        queue.shutdownNow();
    }

    private Answer run(Command command) {
        Answer answer = new Answer();
        answer.id = command.id;
        answer.owner = redisson.getId() + ":" + Thread.currentThread().getId();
        answer.from = now();
        current = command;
        try {
            apply(command, answer);
        } catch (InterruptedException | RuntimeException e) {
            // A multi-lock wraps it, in some releases.
            boolean lost = e instanceof IllegalMonitorStateException
                    || e.getCause() instanceof IllegalMonitorStateException;
            answer.error = lost ? "LOST" : e.toString();
        }
        answer.at = now();
        return answer;
    }

    private void apply(Command command, Answer answer) throws InterruptedException {
        answer.ok = true;
        if (Counters.has(command.kind)) {
            counters.apply(command, answer);
            return;
        }
        RLock lock = locks.computeIfAbsent(command.kind + " " + command.name, key -> lock(command));
        switch (command.verb) {
            case "lock", "tryLock" -> acquire(lock, command, answer);
            case "unlock" -> lock.unlock();
            case "contend" -> contend(lock, command, answer);
            case "forceUnlock" -> answer.ok = lock.forceUnlock();
            case "holdCount" -> answer.value = countable(lock, command).getHoldCount();
            default -> throw new IllegalArgumentException("no verb " + command.verb);
        }
    }

    private static void acquire(RLock lock, Command command, Answer answer) throws InterruptedException {
        if (command.kind.equals("fenced")) {
            Long token = Fenced.acquire(lock, command);
            answer.ok = token != null;
            answer.value = answer.ok ? token : 0;
        } else if (command.verb.equals("tryLock")) {
            answer.ok = command.wait < 0 && command.lease < 0
                    ? lock.tryLock()
                    : lock.tryLock(Math.max(command.wait, 0), command.lease, TimeUnit.MILLISECONDS);
        } else if (command.lease < 0) {
            lock.lock();
        } else {
            lock.lock(command.lease, TimeUnit.MILLISECONDS);
        }
    }

    /** Takes the lock again and again, for a section each time, and counts the sections. */
    private static void contend(RLock lock, Command command, Answer answer) {
        long end = now() + command.span;
        for (long asked = now(); asked < end; asked = now()) {
            lock.lock();
            answer.longest = Math.max(answer.longest, now() - asked);
            answer.value++;
            if (command.each > 0) {
                LockSupport.parkNanos(command.each * 1000);
            }
            lock.unlock();
        }
    }

    private RLock lock(Command command) {
        return switch (command.kind) {
            case "mutex" -> redisson.getLock(command.name);
            case "spin" -> redisson.getSpinLock(command.name);
            case "fair" -> redisson.getFairLock(command.name);
            case "read" -> redisson.getReadWriteLock(command.name).readLock();
            case "write" -> redisson.getReadWriteLock(command.name).writeLock();
            case "fenced" -> Fenced.of(redisson, command.name);
            case "multi" -> redisson.getMultiLock(
                    Stream.of(command.names()).map(redisson::getLock).toArray(RLock[]::new));
            default -> throw new IllegalArgumentException("no kind " + command.kind);
        };
    }

    /** A multi-lock cannot tell its count, but each of its members can. */
    private RLock countable(RLock lock, Command command) {
        return command.kind.equals("multi") ? redisson.getLock(command.names()[0]) : lock;
    }

    /**
     * Whether the thread sleeps until a message. Redisson parks it on a semaphore; but for a
     * fenced lock others wait in its place. A thread inside the semaphore that is not parked yet
     * is not enough: Redisson wakes only those in its queue when a write lock is released.
     */
    boolean parked() {
        Thread parked = thread;
        Command doing = current;
        if (parked == null || doing == null) {
            return false;
        }
        if (doing.kind.equals("fenced")) {
            return Fenced.awaited(redisson, doing.name);
        }
        StackTraceElement[] stack = parked.getStackTrace();
        return stack.length > 0 && stack[0].getMethodName().equals("park")
                && Stream.of(stack).anyMatch(frame -> frame.getClassName().equals(Semaphore.class.getName()));
    }

    private static long now() {
        return Duration.between(Instant.EPOCH, Instant.now()).toNanos() / 1000;
    }
}
