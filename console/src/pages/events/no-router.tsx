/** Says how to turn the router on. */
export const NoRouter = () => (
  <article aria-labelledby="no-router">
    <h2 id="no-router">Events are not forwarded</h2>
    <p>A router forwards each event to every topic whose filters it matches. It is off by default.</p>
    <p>
      To turn it on, set <code>KAFKA_EVENTS_TOPIC</code> to the Kafka topic that your events come from, and
      restart topicsync.
    </p>
    <p>
      <code>KAFKA_EGRESS_TOPIC</code> names the Kafka topic that events are forwarded to. It must exist,
      unless <code>KAFKA_EGRESS_CREATE</code> is <code>true</code>.
    </p>
  </article>
);
