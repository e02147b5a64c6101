import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import software.amazon.event.ruler.Machine;

/**
 * Runs Event Ruler. The input has three lists, each after a line with its length: rules (id, tab, JSON), further rules
 * and events. "match" prints the sorted ids of the matching rules of each event. "bench WARMUPS ROUNDS PASSES" prints
 * measurements as one line of JSON; it adds the further rules one by one at the end.
 */
public class EventRuler {
    private static final int AT_ONCE = 1_000;
    private static final BufferedReader INPUT =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
    private static final PrintStream OUTPUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        Machine machine = new Machine();
        long empty = heapUsed();
        long building = 0;
        for (int left = count(); left > 0; left -= AT_ONCE) {
            // Read all rules before the measurement.
            List<String[]> rules = readRules(Math.min(left, AT_ONCE));
            long start = System.nanoTime();
            for (String[] rule : rules) machine.addRule(rule[0], rule[1]);
            building += System.nanoTime() - start;
        }
        long full = heapUsed();
        List<String[]> further = readRules(count());
        List<String> events = readLines(count());
        if (args[0].equals("match")) {
            match(machine, events);
        } else {
            int warmUps = Integer.parseInt(args[1]);
            int rounds = Integer.parseInt(args[2]);
            int passes = Integer.parseInt(args[3]);
            for (int round = 0; round < warmUps; round += 1) rate(machine, events, passes);
            double[] rates = new double[rounds];
            for (int round = 0; round < rounds; round += 1) rates[round] = rate(machine, events, passes);
            int[] matches = events.stream().mapToInt(event -> matchesOf(machine, event).size()).toArray();
            OUTPUT.printf(
                "{\"buildSeconds\":%s,\"bytes\":%d,\"rates\":[%s],\"matches\":%s,\"setMicroseconds\":[%s]}%n",
                building / 1e9, full - empty, joined(Arrays.stream(rates)), Arrays.toString(matches),
                joined(Arrays.stream(add(machine, further)).mapToDouble(nanos -> nanos / 1e3)));
        }
        OUTPUT.flush();
    }

    private static void match(Machine machine, List<String> events) {
        for (String event : events) {
            List<String> ids = new ArrayList<>(matchesOf(machine, event));
            Collections.sort(ids);
            OUTPUT.print(String.join(" ", ids) + "\n");
        }
    }

    /** Events per second, including parsing. */
    private static double rate(Machine machine, List<String> events, int passes) {
        long start = System.nanoTime();
        for (int pass = 0; pass < passes; pass += 1) for (String event : events) matchesOf(machine, event);
        return passes * events.size() / ((System.nanoTime() - start) / 1e9);
    }

    private static List<String> matchesOf(Machine machine, String event) {
        try {
            return machine.rulesForJSONEvent(event);
        } catch (Exception error) {
            throw new IllegalStateException("Event Ruler cannot read " + event, error);
        }
    }

    /** The time to add each rule, in nanoseconds. */
    private static long[] add(Machine machine, List<String[]> rules) throws IOException {
        long[] times = new long[rules.size()];
        for (int at = 0; at < times.length; at += 1) {
            String[] rule = rules.get(at);
            long start = System.nanoTime();
            machine.addRule(rule[0], rule[1]);
            times[at] = System.nanoTime() - start;
        }
        return times;
    }

    private static long heapUsed() throws InterruptedException {
        Runtime runtime = Runtime.getRuntime();
        for (int times = 0; times < 3; times += 1) {
            System.gc();
            Thread.sleep(50);
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static int count() throws IOException {
        return Integer.parseInt(INPUT.readLine());
    }

    private static List<String[]> readRules(int count) throws IOException {
        return readLines(count).stream().map(line -> line.split("\t", 2)).collect(Collectors.toList());
    }

    private static List<String> readLines(int count) throws IOException {
        List<String> lines = new ArrayList<>(count);
        for (int at = 0; at < count; at += 1) lines.add(INPUT.readLine());
        return lines;
    }

    private static String joined(DoubleStream values) {
        return values.mapToObj(Double::toString).collect(Collectors.joining(","));
    }
}
