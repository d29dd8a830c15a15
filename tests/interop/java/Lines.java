import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Commands in, reports out, both lines of JSON; the words are in {@code tests/interop/kinds.py}. */
final class Lines {
    /** What one word does. */
    interface Word {
        void run(JsonObject command) throws Exception;
    }

    private static final Gson GSON = new Gson();
    private static final PrintStream OUT = System.out;

    private Lines() {}

    static void report(String event, Object... values) {
        Map<String, Object> named = new LinkedHashMap<>();
        for (int i = 0; i < values.length; i += 2) {
            named.put((String) values[i], values[i + 1]);
        }
        report(event, named);
    }

    static synchronized void report(String event, Map<String, Object> values) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.putAll(values);
        OUT.println(GSON.toJson(line));
        OUT.flush();
    }

    /** Runs commands up to `stop`, and ends the process. */
    static void serve(Map<String, Word> words) throws Exception {
        System.setOut(System.err);
        report("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject command = JsonParser.parseString(line).getAsJsonObject();
            String word = command.get("do").getAsString();
            try {
                words.get(word).run(command);
            } catch (Throwable refused) {
                report("failed", "reason", reason(refused));
            }
            if (word.equals("stop")) {
                Runtime.getRuntime().halt(0);
            }
        }
    }

    static boolean has(JsonObject command, String name) {
        return command.has(name) && !command.get(name).isJsonNull();
    }

    static boolean flag(JsonObject command, String name) {
        return has(command, name) && command.get(name).getAsBoolean();
    }

    static String text(JsonObject command, String name, String otherwise) {
        return has(command, name) ? command.get(name).getAsString() : otherwise;
    }

    static int number(JsonObject command, String name, int otherwise) {
        return has(command, name) ? command.get(name).getAsInt() : otherwise;
    }

    static Map<String, String> texts(JsonObject command, String name) {
        Map<String, String> texts = new LinkedHashMap<>();
        if (has(command, name)) {
            for (Map.Entry<String, JsonElement> entry : command.getAsJsonObject(name).entrySet()) {
                texts.put(entry.getKey(), entry.getValue().getAsString());
            }
        }
        return texts;
    }

    private static String reason(Throwable refused) {
        StringWriter trace = new StringWriter();
        refused.printStackTrace(new PrintWriter(trace));
        System.err.println(trace);
        StringBuilder chain = new StringBuilder();
        for (Throwable cause = refused; cause != null; cause = cause.getCause()) {
            chain.append(chain.length() == 0 ? "" : " <- ").append(cause);
        }
        return chain.toString();
    }
}
