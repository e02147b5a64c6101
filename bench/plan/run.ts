/**
 * Plans a set from an NDJSON file in its own process, with members from memory instead of a store: `node
 * bench/plan/run.ts TOPICS`. 100 definitions differ. Prints one line of JSON.
 */
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { loadTopicFiles } from "../../src/cli/input/topic-files/load.ts";
import { createPlan } from "../../src/plans/create-plan.ts";
import type { KnownTopicView } from "../../schemas/topics/sets.ts";
import type { PlanSource } from "../../src/plans/stores.ts";
import { toKnownView } from "../../src/plans/view.ts";
import { noDetails } from "../../src/topics/details/details.ts";
import { readMemoryMb } from "../support/process-usage.ts";

export interface PlanBenchResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
  readonly planBytes: number;
}

const changed = 100;
const count = Number(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "topicsync-plan-"));

const toDefinition = (at: number) => ({
  externalId: `ticket-topic-${at}`,
  name: `Critical tickets of customer ${at}`,
  namespace: `assurance.region-${at % 50}`,
  headerQuery: "eventType=TroubleTicketCreateEvent",
  contentQuery: `troubleTicket.severity=Critical,Major&troubleTicket.relatedParty.id=customer-${at}`,
});

async function writeDefinitions(): Promise<string> {
  const file = join(folder, "topics.ndjson");
  const stream = createWriteStream(file);
  for (let at = 0; at < count; at += 1) {
    const definition = toDefinition(at);
    const isChanged = at % Math.floor(count / changed) === 0;
    const contentQuery = isChanged ? `${definition.contentQuery}&a=1` : definition.contentQuery;
    if (!stream.write(`${JSON.stringify({ ...definition, contentQuery, owner: "team-noc" })}\n`))
      await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
  return file;
}

async function* streamMembers(): AsyncGenerator<KnownTopicView> {
  const on = new Date();
  const source = { kind: "http", user: "ann" } as const;
  for (let at = 0; at < count; at += 1) {
    const definition = toDefinition(at);
    const { externalId, namespace } = definition;
    yield toKnownView({
      externalId,
      topic: { ...definition, id: String(at), version: 1, source, createdOn: on, updatedOn: on },
      details: {
        ...{ ...noDetails, owner: "team-noc", externalId, namespace, version: 1, words: [] },
        membership: { set: "noc", path: "topics.ndjson" },
        ...{ changedOn: on, changedBy: "ann" },
      },
    });
  }
  await Promise.resolve();
}

const source: PlanSource = {
  databaseId: "memory",
  findSet: () => Promise.resolve(undefined),
  streamMembers,
  findKnown: () => Promise.resolve([]),
  findHolders: () => Promise.resolve([]),
  findWarnings: (definitions) => Promise.resolve(definitions.map(() => [])),
};

const file = await writeDefinitions();
const startedAt = performance.now();
const cpu = process.cpuUsage();
const desired = await loadTopicFiles([file], { root: folder, set: "noc" });
if ("faults" in desired) throw new Error(desired.faults[0]?.message);
const { plan } = await createPlan(desired, source, {
  ...{ prune: true, maxDeletes: undefined, allowEmpty: false, adopt: false, takeOver: undefined },
  ...{
    origin: undefined,
    revision: undefined,
    user: "ann",
    now: new Date(),
    egressNaming: undefined,
    findReaders: undefined,
    evenIfRead: false,
  },
});
const planBytes = JSON.stringify(plan, undefined, 2).length;
if (plan.changes.length !== changed) throw new Error(`${plan.changes.length} changes were planned`);
const { user, system } = process.cpuUsage(cpu);
const result: PlanBenchResult = {
  seconds: (performance.now() - startedAt) / 1_000,
  cpuSeconds: (user + system) / 1e6,
  peakMb: readMemoryMb(process.pid, "VmHWM"),
  planBytes,
};
rmSync(folder, { recursive: true });
process.stdout.write(JSON.stringify(result));
