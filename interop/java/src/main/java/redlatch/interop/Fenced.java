package redlatch.interop;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The verbs of a fenced lock, by name: releases before 3.19 have none, and are to compile. */
final class Fenced {
    private static final long FOR_EVER = TimeUnit.DAYS.toMillis(1);

    private Fenced() {}

    static RLock of(RedissonClient redisson, String name) {
        return (RLock) call(RedissonClient.class, redisson, "getFencedLock", of(String.class), name);
    }

    /** Returns the token, or null if the lock was not to be had. */
    static Long acquire(RLock lock, Command command) {
        if (command.verb.equals("lock") && command.lease < 0) {
            return (Long) call(type(), lock, "lockAndGetToken", of());
        }
        // Lock with a lease would ignore it, and a try without arguments wait for ever.
        long wait = command.verb.equals("lock") ? FOR_EVER : Math.max(command.wait, 0);
        return (Long) call(type(), lock, "tryLockAndGetToken", of(long.class, long.class, TimeUnit.class),
                wait, command.lease, TimeUnit.MILLISECONDS);
    }

    /**
     * Whether a waiter of this client has left what a message is to run. A subscription says less: a message that
     * comes between it and that is lost.
     */
    static boolean awaited(RedissonClient redisson, String name) {
        RLock lock = of(redisson, name);
        Map<?, ?> entries = (Map<?, ?>) inside(inside(lock, "pubSub"), "entries");
        Object entry = entries.get(inside(lock, "entryName"));
        return entry != null && !((Collection<?>) inside(entry, "listeners")).isEmpty();
    }

    /** Returns what a field of Redisson has. */
    private static Object inside(Object object, String name) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    try {
                        field.setAccessible(true);
                        return field.get(object);
                    } catch (IllegalAccessException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        }
        throw new IllegalArgumentException("this release has no field " + name);
    }

    private static Class<?> type() {
        try {
            return Class.forName("org.redisson.api.RFencedLock");
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("this release has no fenced lock", e);
        }
    }

    private static Class<?>[] of(Class<?>... types) {
        return types;
    }

    private static Object call(Class<?> type, Object target, String method, Class<?>[] types, Object... arguments) {
        try {
            return type.getMethod(method, types).invoke(target, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException) {
                throw (RuntimeException) e.getCause();
            }
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("this release has no " + method, e);
        }
    }
}
