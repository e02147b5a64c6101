/** The next owner of a partition ends what its predecessor wrote, wherever Kafka has lost the end. */
import assert from "node:assert/strict";
import { it } from "node:test";

import { pino } from "pino";

import type { RoutedRecord } from "@topicsync/kafka";
import { nameFetching } from "../kafka/lookups.ts";
import { onStage, type Stage } from "./simulated-kafka.ts";

const [events, egress] = ["events", "to.all"] as const;
const settings = { KAFKA_EVENTS_TOPIC: events, KAFKA_EGRESS_TOPIC: egress };
const foreverMs = 3_600_000;
const transactionTimeoutMs = 60_000;

const createCopy = (partition: number, value: string): RoutedRecord => ({
  topic: egress,
  partition,
  key: null,
  value: Buffer.from(value),
  timestamp: "1000",
  headers: [],
});

const wait = ({ clock, outside }: Stage, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.schedule(outside, ms, resolve);
  });

/** Lets the partitions of a transaction, but not its offset, lose its end. Then another owner claims it. */
const loseEnd = (hasCommitted: boolean, denied: readonly string[] = []) =>
  onStage(1, {}, async (stage) => {
    const { cluster, connect } = stage;
    cluster.registry.create({ name: events, partitions: 1 });
    cluster.registry.create({ name: egress, partitions: 2 });
    const warnings: string[] = [];
    const broker = await connect(settings, pino({ level: "warn" }, { write: (line) => warnings.push(line) }));
    const create = () =>
      broker.createTransactions({ partition: { topic: events, partition: 0 }, groupId: "router" });
    const former = create();
    await former.claim();
    const transaction = await former.begin({ offset: 1, epoch: 1 });
    await transaction.sendAll([createCopy(0, "a"), createCopy(1, "b")]);
    cluster.loseMarkers(foreverMs, true);
    if (hasCommitted) await transaction.commit();
    // Otherwise its coordinator aborts it.
    await wait(stage, 2 * transactionTimeoutMs);
    cluster.loseMarkers(0);
    for (const topic of denied) cluster.denied.add(topic);
    const position = await create().claim();
    const logs = [0, 1].map((partition) => cluster.getPartition(egress, partition).log);
    return {
      offset: position?.offset,
      open: logs.filter((log) => log.hasOpenTransaction).length,
      visible: logs.flatMap((log) => log.readAll().map(({ value }) => String(value))),
      warnings: warnings.map(
        (line) => JSON.parse(line) as { readonly msg: string; readonly topics?: string[] },
      ),
    };
  });

it("commits what was committed, and aborts what was aborted, where only partitions lack the end", async () => {
  const committed = await loseEnd(true);
  assert.deepEqual([committed.offset, committed.open, committed.visible], [1, 0, ["a", "b"]]);
  assert.match(committed.warnings.at(-1)?.msg ?? "", /^Kafka had lost the end of a transaction/);
  const aborted = await loseEnd(false);
  assert.deepEqual([aborted.offset, aborted.open, aborted.visible], [undefined, 0, []]);
});

it("names the Kafka topics in which it may not look for lost ends", async () => {
  const { open, warnings } = await loseEnd(true, [nameFetching(egress)]);
  assert.equal(open, 2);
  assert.deepEqual(
    warnings
      .filter(({ msg }) => msg.endsWith("Kafka denies its user Read on them"))
      .map(({ topics }) => topics),
    [[egress]],
  );
});
