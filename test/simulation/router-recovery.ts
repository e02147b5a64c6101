/** What the router must reach when faults have ended, also while one of them lasts. */
import type { Clock, Cluster, Random } from "../simulated-servers/index.ts";
import { injectLastingFault, lastingFaults, recoveryMs, type LastingFault } from "./lasting-faults.ts";
import { parseEvent } from "./router-copies.ts";
import type { EgressInventory } from "./router-egress.ts";
import type { EventsTopic } from "./router-events.ts";
import type { RouterTopics } from "./router-topics.ts";
import { Violation } from "./violation.ts";

type OwnFault = "denied egress topic" | "egress topic without a leader" | "events partition without a leader";
export type RouterLastingFault = LastingFault | OwnFault;

export const routerLastingFaults: readonly [RouterLastingFault, ...RouterLastingFault[]] = [
  ...lastingFaults,
  "denied egress topic",
  "egress topic without a leader",
  "egress topic without a leader",
];

export interface RecoveryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster: Cluster;
  readonly events: EventsTopic;
  readonly inventory: EgressInventory;
  readonly topics: RouterTopics;
  readonly unmatchedTopic: string | undefined;
  readonly lasting: RouterLastingFault;
  readonly trace: (getText: () => string) => void;
}

const topicOfOthers = "others";

/**
 * Sends the last events, and waits until all are forwarded that do not need what is still broken. Throws a
 * Violation.
 */
export async function recover(options: RecoveryOptions): Promise<void> {
  const { clock, random, cluster, events, inventory, trace } = options;
  // Without another record, processes do not hear that somebody moved an offset.
  const lasting =
    options.lasting.endsWith("without a leader") && events.isMovedByHand() ? "nothing" : options.lasting;

  async function waitUntilDone(listBehind: () => readonly string[], still = ""): Promise<void> {
    await clock.runUntil(clock.getTime() + recoveryMs, () => {
      events.decide();
      return listBehind().length === 0;
    });
    if (listBehind().length > 0)
      throw new Violation(
        `the router has not caught up ${recoveryMs / 1_000} s after the last fault${still}: ${listBehind().join(", ")}`,
      );
  }

  const listAllBehind = (): readonly string[] => [
    ...events.listBehind(),
    ...inventory
      .listLogs()
      .filter((log) => log.hasOpenTransaction)
      .map(({ id }) => `log ${id} has an open transaction`),
  ];

  trace(() => `what lasts: ${lasting}`);
  if (lasting === "events partition without a leader") {
    events.endTransactions();
    await waitUntilDone(listAllBehind);
    const broken = events.takeLeader(random.between(0, 3));
    events.finish((partition) => partition !== broken);
    await waitUntilDone(
      () => events.listBehind((partition) => partition !== broken),
      `, with partition ${broken} of the events without a leader`,
    );
    cluster.registry.giveLeaders();
    await waitUntilDone(listAllBehind);
    return;
  }
  if (lasting !== "egress topic without a leader") {
    if (lasting === "denied egress topic") inventory.setRight(random.between(0, 8), false);
    else {
      cluster.registry.create({ name: topicOfOthers, partitions: 1 });
      injectLastingFault(lasting, { cluster, others: topicOfOthers, random });
    }
    events.finish();
    await waitUntilDone(listAllBehind, lasting === "nothing" ? "" : `, with a ${lasting}`);
    return;
  }

  // What is not forwarded yet may need any egress topic.
  events.endTransactions();
  await waitUntilDone(listAllBehind);
  const broken = inventory.takeLeaders(random.between(0, 8));
  const needsBroken = createNeeds(options, broken?.name);
  // One partition has to wait, and the others must not wait for it.
  const waiting = random.pick([undefined, 0, 1]);
  events.finish((partition, value) => partition === waiting || !needsBroken(value));
  await waitUntilDone(
    () => events.listBehind((partition) => partition !== waiting),
    `, with ${broken?.name} without a leader`,
  );
  broken?.giveLeaders();
  await waitUntilDone(listAllBehind);
}

/** Whether an event has to be forwarded to a Kafka topic. */
function createNeeds(
  { topics, inventory, unmatchedTopic }: RecoveryOptions,
  name: string | undefined,
): (value: Buffer) => boolean {
  const versions = topics.listLast();
  return (value) => {
    const content = parseEvent(value);
    if (content === undefined) return false;
    const matching = versions.filter(({ definition }) => definition?.filter.matches(content) === true);
    const needed =
      matching.length === 0 ? [unmatchedTopic] : matching.map((version) => inventory.getName(version));
    return needed.includes(name);
  };
}

/** The member of the group, the admin and the look-up of offsets. */
const clientsPerProcess = 3;

interface Connections {
  /** Of the process. */
  readonly name: string;
  /** How many clients are connected. */
  readonly clients: number;
  /** How many partitions it reads: each has a producer. */
  readonly partitions: number;
}

/** Waits until the processes have closed what they do not need. Throws a Violation. */
export async function waitForConnections(clock: Clock, list: () => readonly Connections[]): Promise<void> {
  const listLeaks = (): string[] =>
    list().flatMap(({ name, clients, partitions }) =>
      clients > clientsPerProcess + partitions
        ? [`${name} has ${clients} clients that are connected, for ${partitions} partitions`]
        : [],
    );
  await clock.runUntil(clock.getTime() + 60_000, () => listLeaks().length === 0);
  if (listLeaks().length > 0) throw new Violation(listLeaks().join(", "));
}
