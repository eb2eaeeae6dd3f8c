package redlatch.interop;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reads a command from each line of the input and answers each with a line of JSON, in
 * the order in which they are done. Commands of one thread follow one another, those of
 * different threads run at the same time. It ends with its input.
 */
public final class Probe {
    private final Gson gson = new Gson();
    private final PrintStream out;
    private final Map<String, Client> clients = new ConcurrentHashMap<>();

    private Probe(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        // Answers alone go to the output; whatever a library prints must not mix with them.
        System.setOut(System.err);
        new Probe(out).serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        // Without goodbye: held locks stay behind, like those of a process that was killed.
        Runtime.getRuntime().halt(0);
    }

    private void serve(BufferedReader in) throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Command command = gson.fromJson(line, Command.class);
            switch (command.verb) {
                case "open", "close" -> new Thread(() -> manage(command)).start();
                default -> client(command).take(command, this::write);
            }
        }
    }

    private Client client(Command command) {
        Client client = clients.get(command.client);
        if (client == null) {
            throw new IllegalStateException("no client " + command.client);
        }
        return client;
    }

    private void manage(Command command) {
        Answer answer = new Answer();
        answer.id = command.id;
        try {
            if (command.verb.equals("open")) {
                Client client = new Client(command);
                clients.put(command.client, client);
                answer.owner = client.id();
            } else {
                clients.remove(command.client).close();
            }
            answer.ok = true;
        } catch (RuntimeException e) {
            answer.error = e.toString();
        }
        write(answer);
    }

    private synchronized void write(Answer answer) {
        out.println(gson.toJson(answer));
        out.flush();
    }
}
