package redlatch.interop;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** The semaphores and the latch of one thread, with the leased permits that it has. */
final class Counters {
    private final RedissonClient redisson;
    private final Map<String, Deque<String>> permits = new HashMap<>();

    Counters(RedissonClient redisson) {
        this.redisson = redisson;
    }

    static boolean has(String kind) {
        return kind != null && (kind.equals("semaphore") || kind.equals("permits") || kind.equals("latch"));
    }

    void apply(Command command, Answer answer) throws InterruptedException {
        switch (command.kind) {
            case "semaphore" -> semaphore(redisson.getSemaphore(command.name), command, answer);
            case "permits" -> permits(redisson.getPermitExpirableSemaphore(command.name), command, answer);
            default -> latch(redisson.getCountDownLatch(command.name), command, answer);
        }
    }

    private static void semaphore(RSemaphore s, Command command, Answer answer) throws InterruptedException {
        switch (command.verb) {
            case "set" -> answer.ok = s.trySetPermits(command.count);
            case "add" -> s.addPermits(command.count);
            case "lock" -> s.acquire(command.count);
            case "tryLock" -> answer.ok = command.wait < 0
                    ? s.tryAcquire(command.count)
                    : s.tryAcquire(command.count, command.wait, TimeUnit.MILLISECONDS);
            case "unlock" -> s.release(command.count);
            case "count" -> answer.value = s.availablePermits();
            case "drain" -> answer.value = s.drainPermits();
            default -> throw new IllegalArgumentException("no verb " + command.verb);
        }
    }

    private void permits(RPermitExpirableSemaphore s, Command command, Answer answer) throws InterruptedException {
        Deque<String> held = permits.computeIfAbsent(command.name, name -> new ArrayDeque<>());
        switch (command.verb) {
            case "set" -> answer.ok = s.trySetPermits(command.count);
            case "add" -> s.addPermits(command.count);
            case "lock", "tryLock" -> {
                String id = command.verb.equals("tryLock")
                        ? s.tryAcquire(Math.max(command.wait, 0), command.lease, TimeUnit.MILLISECONDS)
                        : command.lease < 0 ? s.acquire() : s.acquire(command.lease, TimeUnit.MILLISECONDS);
                answer.ok = id != null;
                if (answer.ok) {
                    answer.owner = id;
                    held.push(id);
                }
            }
            case "unlock" -> {
                if (!s.tryRelease(held.pop())) {
                    throw new IllegalMonitorStateException("the permit was not held");
                }
            }
            case "count" -> answer.value = s.availablePermits();
            default -> throw new IllegalArgumentException("no verb " + command.verb);
        }
    }

    private static void latch(RCountDownLatch l, Command command, Answer answer) throws InterruptedException {
        switch (command.verb) {
            case "set" -> answer.ok = l.trySetCount(command.count);
            case "unlock" -> l.countDown();
            case "lock" -> l.await();
            case "count" -> answer.value = l.getCount();
            default -> throw new IllegalArgumentException("no verb " + command.verb);
        }
    }
}
