package redlatch.bench;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Carries out orders, one after another. It reads an order, says when it is ready, waits to be
 * told the moment of the start, and reports. Each message is one line of JSON. It ends with its input.
 */
public final class Contestant {
    private final Gson gson = new Gson();
    private final BufferedReader in;
    private final PrintStream out;
    private final Map<String, RedissonClient> clients = new HashMap<>();

    private Contestant(BufferedReader in, PrintStream out) {
        this.in = in;
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // reports alone go to the output
        new Contestant(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), out).serve();
        Runtime.getRuntime().halt(0);
    }

    private void serve() throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Report report;
            try {
                report = carryOut(gson.fromJson(line, Order.class));
            } catch (Exception e) {
                report = new Report();
                report.Error = e.toString();
            }
            write(report);
        }
    }

    private Report carryOut(Order order) throws Exception {
        RedissonClient redisson = clients.computeIfAbsent(order.Address, Contestant::open);
        return switch (order.Task) {
            case "pairs" -> new Pairs(redisson, order).run(this::ready);
            case "contend" -> new Contention(redisson, order).run(this::ready);
            default -> throw new IllegalArgumentException("unknown task " + order.Task);
        };
    }

    /** The settings of the README: none but the address. */
    private static RedissonClient open(String address) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + address);
        return Redisson.create(config);
    }

    /** Tells that nothing but the start is missing, and returns when that was. */
    private long ready() throws IOException {
        write(new Report());
        return Long.parseLong(in.readLine().trim());
    }

    private void write(Report report) {
        out.println(gson.toJson(report));
        out.flush();
    }

    /** Waits for the start. */
    interface Start {
        long await() throws IOException;
    }
}
