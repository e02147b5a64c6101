import type { Message } from "kafkajs";

/**
 * Sets how messages are grouped by partition. kafkajs 2.2.4 groups them with `reduce`, and for each message copies the list of its
 * partition, which takes longer the more there are.
 */
export const setGroups = (
  messages: Message[],
  byPartition: Readonly<Record<number, readonly Message[]>>,
): Message[] => Object.defineProperty(messages, "reduce", { value: () => byPartition });
