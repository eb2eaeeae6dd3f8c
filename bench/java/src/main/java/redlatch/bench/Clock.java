package redlatch.bench;

import java.time.Instant;

/** The machine's clock, which its processes share, in nanoseconds. */
final class Clock {
    private Clock() {
    }

    static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    static void sleepUntil(long moment) throws InterruptedException {
        for (long left = moment - now(); left > 0; left = moment - now()) {
            Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
        }
    }
}
