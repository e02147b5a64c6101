/**
 * Fault of kafkajs 2.2.4, producer/groupMessagesPerPartition.js:6: it groups messages by partition with
 * `reduce`, and copies the list of the partition for each message, which takes longer the more messages there
 * are.
 * The test in test/workarounds/message-groups.test.ts fails when kafkajs no longer needs this.
 */

import type { Message } from "kafkajs";

/** Sets how messages are grouped by partition. */
export const setGroups = (
  messages: Message[],
  byPartition: Readonly<Record<number, readonly Message[]>>,
): Message[] => Object.defineProperty(messages, "reduce", { value: () => byPartition });
