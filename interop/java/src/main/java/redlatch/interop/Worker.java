package redlatch.interop;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** One thread of a client. Redisson knows the holder of a lock by its thread. */
final class Worker {
    private final RedissonClient redisson;
    private final ExecutorService queue;
    private final Section section;

    // One object for each lock, as a program would have it in a field.
    private final Map<String, RLock> locks = new HashMap<>();
    private volatile Thread thread;

    Worker(RedissonClient redisson) {
        this.redisson = redisson;
        this.section = new Section(redisson);
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
        try {
            apply(command, answer);
        } catch (IllegalMonitorStateException e) {
            answer.error = "LOST";
        } catch (InterruptedException | RuntimeException e) {
            answer.error = e.toString();
        }
        answer.at = now();
        return answer;
    }

    private void apply(Command command, Answer answer) throws InterruptedException {
        answer.ok = true;
        if (command.verb.equals("section")) {
            answer.value = section.run(command, answer.owner);
            return;
        }
        RLock lock = locks.computeIfAbsent(command.kind + " " + command.name, key -> lock(command));
        switch (command.verb) {
            case "lock" -> {
                if (command.lease < 0) {
                    lock.lock();
                } else {
                    lock.lock(command.lease, TimeUnit.MILLISECONDS);
                }
            }
            case "tryLock" -> answer.ok = command.wait < 0 && command.lease < 0
                    ? lock.tryLock()
                    : lock.tryLock(Math.max(command.wait, 0), command.lease, TimeUnit.MILLISECONDS);
            case "unlock" -> lock.unlock();
            case "forceUnlock" -> answer.ok = lock.forceUnlock();
            case "isLocked" -> answer.ok = lock.isLocked();
            case "holdCount" -> answer.value = lock.getHoldCount();
            case "remainTTL" -> answer.value = lock.remainTimeToLive();
            default -> throw new IllegalArgumentException("no verb " + command.verb);
        }
    }

    private RLock lock(Command command) {
        return switch (command.kind) {
            case "mutex" -> redisson.getLock(command.name);
            case "fair" -> redisson.getFairLock(command.name);
            case "read" -> redisson.getReadWriteLock(command.name).readLock();
            case "write" -> redisson.getReadWriteLock(command.name).writeLock();
            default -> throw new IllegalArgumentException("no kind " + command.kind);
        };
    }

    /** Whether the thread sleeps until a message: Redisson parks it on a semaphore. */
    boolean parked() {
        Thread parked = thread;
        if (parked == null) {
            return false;
        }
        for (StackTraceElement frame : parked.getStackTrace()) {
            if (frame.getClassName().equals(Semaphore.class.getName())) {
                return true;
            }
        }
        return false;
    }

    private static long now() {
        return Duration.between(Instant.EPOCH, Instant.now()).toNanos() / 1000;
    }
}
