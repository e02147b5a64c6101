/**
 * `node demo/send-event.ts EVENT.json`: sends an event to the events topic, and prints the topics that it
 * arrives at.
 */
import { readFileSync } from "node:fs";

import { Command } from "commander";

import { getErrorMessage } from "@topicsync/lib/errors";
import { runWithContext } from "../src/cli/context.ts";
import { formatTable } from "../src/cli/output/table.ts";
import { forwardEvent } from "./forward.ts";
import { printLine } from "./story.ts";

const command = new Command("node demo/send-event.ts")
  .description("Send an event to KAFKA_EVENTS_TOPIC, and print the topics that it arrives at.")
  .argument("<event-file>", "a file with one event")
  .parse();
const [file = ""] = command.args;

try {
  await runWithContext(async ({ config: { kafka }, broker }) => {
    const { router } = kafka;
    if (router === undefined) throw new Error("KAFKA_EVENTS_TOPIC is not set");
    const copies = await forwardEvent(readFileSync(file), { broker: await broker(), kafka, router });
    if (copies.length === 0) printLine("The event belongs to no topic.");
    else {
      const rows = copies.map(({ externalId, egressTopic }) => [externalId, egressTopic]);
      printLine(await formatTable(["forwarded to", "in the Kafka topic"], rows));
    }
  });
} catch (error) {
  process.stderr.write(`${getErrorMessage(error)}\n`);
  process.exitCode = 1;
}
