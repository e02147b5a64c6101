import { KafkaUnavailable, messageOf, Unavailable } from "../errors.ts";

/** The error as the rest of the program knows it. */
export const unavailable = (error: unknown): Unavailable =>
  error instanceof Unavailable
    ? error
    : new KafkaUnavailable(`Kafka does not answer: ${messageOf(error)}`, { cause: error });
