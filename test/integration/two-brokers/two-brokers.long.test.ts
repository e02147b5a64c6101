/**
 * What needs two brokers, on one cluster. The last one moves Kafka's own topic of offsets to the second
 * broker.
 */
import "./durability.ts";
import "./leaderless.ts";
import "./logs.ts";
import "./lost-ends.ts";
