import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import software.amazon.event.ruler.Machine;

/**
 * Forwards each event to one Kafka topic, once for each rule of Event Ruler that matches it, with the headers of the
 * router. Arguments: a file with the properties of Kafka Streams, a file with the rules (id, tab, JSON), the topic of
 * the events and the topic to forward to.
 */
public class KafkaStreamsRouter {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (BufferedReader reader = Files.newBufferedReader(Path.of(args[0]))) {
            properties.load(reader);
        }
        Machine machine = new Machine();
        try (BufferedReader reader = Files.newBufferedReader(Path.of(args[1]))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                String[] rule = line.split("\t", 2);
                machine.addRule(rule[0], rule[1]);
            }
        }
        Topology topology = new Topology();
        topology.addSource("events", new ByteArrayDeserializer(), new ByteArrayDeserializer(), args[2]);
        topology.addProcessor("route", () -> new Route(machine), "events");
        topology.addSink("egress", args[3], new ByteArraySerializer(), new ByteArraySerializer(), "route");
        KafkaStreams streams = new KafkaStreams(topology, properties);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return null;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    private static class Route extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
        private final Machine machine;

        Route(Machine machine) {
            this.machine = machine;
        }

        @Override
        public void process(Record<byte[], byte[]> event) {
            RecordMetadata position = context().recordMetadata().orElseThrow();
            String id = position.topic() + "-" + position.partition() + "-" + position.offset();
            for (String rule : match(event.value())) {
                Headers headers = new RecordHeaders(event.headers());
                headers.add("topicsync.topic", rule.getBytes(StandardCharsets.UTF_8));
                headers.add("topicsync.event", id.getBytes(StandardCharsets.UTF_8));
                context().forward(event.withHeaders(headers));
            }
        }

        private Iterable<String> match(byte[] event) {
            try {
                return machine.rulesForJSONEvent(new String(event, StandardCharsets.UTF_8));
            } catch (Exception error) {
                throw new IllegalStateException("Event Ruler cannot read an event", error);
            }
        }
    }
}
