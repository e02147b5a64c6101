import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A client of topicsync: announces a topic, sends events, and reads the copies that are routed to it. */
public final class Example {
  private static final String BROKERS = setting("KAFKA_BROKERS", "127.0.0.1:9092");
  private static final String ANNOUNCEMENTS_TOPIC = setting("ANNOUNCEMENTS_TOPIC", "topicsync.announcements");
  private static final String EVENTS_TOPIC = setting("EVENTS_TOPIC", "topicsync.events");
  private static final String EGRESS_TOPIC = setting("EGRESS_TOPIC", "topicsync.egress");
  private static final String EXTERNAL_ID = setting("EXTERNAL_ID", "critical-tickets");
  private static final String GROUP_ID = setting("GROUP_ID", EXTERNAL_ID);
  private static final Path PROCESSED_FILE = Path.of(setting("PROCESSED_FILE", "processed.txt"));
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    String command = args.length == 0 ? "" : args[0];
    switch (command) {
      case "announce" -> announce();
      case "send" -> sendEvents();
      case "read" -> read(args.length < 2 ? 2 : Integer.parseInt(args[1]));
      default -> {
        System.err.println("usage: Example announce | send | read COUNT");
        System.exit(2);
      }
    }
  }

  /** The key is the external id, so that compaction keeps the last definition of each topic. */
  private static void announce() throws Exception {
    Map<String, String> definition =
        Map.of(
            "externalId", EXTERNAL_ID,
            "name", "Critical tickets",
            "namespace", "examples." + EXTERNAL_ID,
            "headerQuery", "eventType=TroubleTicketCreateEvent",
            "contentQuery", "troubleTicket.severity=critical");
    String value = JSON.writeValueAsString(definition);
    send(List.of(new ProducerRecord<>(ANNOUNCEMENTS_TOPIC, EXTERNAL_ID, value)));
    System.out.println("announced " + EXTERNAL_ID);
  }

  private static void sendEvents() throws Exception {
    Map<String, Object> cloudEvent =
        Map.of(
            "specversion", "1.0",
            "id", UUID.randomUUID().toString(),
            "source", "/examples/java",
            "type", "TroubleTicketCreateEvent",
            "datacontenttype", "application/json",
            "data", createEvent("ticket 2"));
    String plain = JSON.writeValueAsString(createEvent("ticket 1"));
    String wrapped = JSON.writeValueAsString(cloudEvent);
    ProducerRecord<String, String> second = new ProducerRecord<>(EVENTS_TOPIC, "ticket 2", wrapped);
    second.headers().add("content-type", "application/cloudevents+json".getBytes(UTF_8));
    send(List.of(new ProducerRecord<>(EVENTS_TOPIC, "ticket 1", plain), second));
    System.out.println("sent 2 events");
  }

  private static Map<String, Object> createEvent(String ticket) {
    return Map.of(
        "eventId", UUID.randomUUID().toString(),
        "@type", "TroubleTicketCreateEvent",
        "eventType", "TroubleTicketCreateEvent",
        "eventTime", Instant.now().toString(),
        "event", Map.of("troubleTicket", Map.of("id", ticket, "severity", "critical")));
  }

  /** Kafka's producer is idempotent and waits for all in-sync replicas by default. */
  private static void send(List<ProducerRecord<String, String>> records) throws Exception {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", BROKERS);
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (ProducerRecord<String, String> record : records) producer.send(record).get();
    }
  }

  private static void read(int count) throws Exception {
    Set<String> processed = new HashSet<>();
    if (Files.exists(PROCESSED_FILE)) processed.addAll(Files.readAllLines(PROCESSED_FILE));
    Properties settings = new Properties();
    settings.put("bootstrap.servers", BROKERS);
    settings.put("group.id", GROUP_ID);
    settings.put("auto.offset.reset", "earliest");
    settings.put("enable.auto.commit", "false");
    // The default also reads the records of transactions that are aborted later.
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(EGRESS_TOPIC));
      int records = 0;
      while (records < count) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
          // The Kafka topic may hold the copies of other topics.
          if (header(record, "topicsync.topic").equals(EXTERNAL_ID)) {
            process(record, processed);
            records += 1;
          }
          var partition = new TopicPartition(record.topic(), record.partition());
          consumer.commitSync(Map.of(partition, new OffsetAndMetadata(record.offset() + 1)));
          if (records == count) break;
        }
      }
    }
  }

  /** The id is the same for every delivery and every copy of an event. */
  private static void process(ConsumerRecord<String, String> record, Set<String> processed) throws Exception {
    String id = header(record, "topicsync.event");
    if (!processed.add(id)) {
      System.out.println("skipped " + id);
      return;
    }
    JsonNode event = JSON.readTree(record.value());
    JsonNode ticket = (event.has("data") ? event.get("data") : event).get("event").get("troubleTicket");
    System.out.println("processed " + id + ": " + ticket.get("id").asText());
    Files.writeString(PROCESSED_FILE, id + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  private static String header(ConsumerRecord<String, String> record, String name) {
    return new String(record.headers().lastHeader(name).value(), UTF_8);
  }

  private static String setting(String name, String defaultValue) {
    String value = System.getenv(name);
    return value == null ? defaultValue : value;
  }
}
