package redlatch.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * The used part of the heap, and all that is resident outside of it. The heap is resident as a whole from
 * the start, so that what the process grows by otherwise is the stacks of threads.
 */
final class Memory {
    private Memory() {
    }

    /** Notes what is in use now. */
    static void weigh(Report report) throws IOException {
        System.gc();
        System.gc();
        Report.Mark mark = new Report.Mark();
        mark.InUse = Map.of("bytes", (double) (resident() - Runtime.getRuntime().freeMemory()));
        report.Marks.add(mark);
    }

    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        throw new IOException("no resident size");
    }
}
