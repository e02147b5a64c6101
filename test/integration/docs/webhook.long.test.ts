/** The webhook example, with an endpoint that fails in every way, and killed once. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, describe, it } from "node:test";

import { findFreePort } from "@topicsync/embedded";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import {
  createEvent,
  defineTopic,
  getText,
  routerStage,
  type ReadRecord,
} from "../../support/router-scene.ts";
import { keepLog, keepSecret } from "../../support/secrets.ts";

const { stack, kafka, admin, routerScene } = routerStage();
const examples = join(import.meta.dirname, "../../../examples");
const folder = mkdtempSync(join(tmpdir(), "topicsync-webhook-"));
cpSync(join(examples, "webhook"), folder, { recursive: true });
after(() => {
  rmSync(folder, { recursive: true });
});

const key = randomBytes(32);
const secret = `whsec_${key.toString("base64")}`;
keepSecret(secret, key.toString("base64"));

/** A request that the endpoint received. */
interface Attempt {
  readonly id: string;
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The status of the nth request with an id; undefined: no answer. */
type Plan = (nth: number) => number | undefined;

/** An endpoint of one address, which can be closed and opened again. */
async function createEndpoint() {
  const port = await findFreePort();
  const attempts: Attempt[] = [];
  let plan: Plan = () => 204;
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const id = readId(request.headers);
      const nth = attempts.filter((one) => one.id === id).length + 1;
      const status = request.method === "POST" && request.url === "/hook?a=1&b=%2F" ? plan(nth) : 404;
      attempts.push({ id, status, headers: request.headers, body });
      if (status !== undefined) response.writeHead(status).end("a body that nobody reads");
    });
  });
  const open = () => once(server.listen(port, "127.0.0.1"), "listening");
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  after(() => (server.listening ? close() : undefined));
  await open();
  return {
    url: `http://127.0.0.1:${port}/hook?a=1&b=%2F`,
    attempts,
    open,
    close,
    follow: (next: Plan) => {
      plan = next;
    },
    isAccepted: (id: string) => attempts.some((one) => one.id === id && one.status === 204),
  };
}

/** The event and the topic of a request. */
function readId(headers: IncomingHttpHeaders): string {
  const id = String(headers["webhook-id"]);
  // In what is signed, a dot ends the id.
  assert.doesNotMatch(id, /[^\w%+*-]/);
  return decodeURIComponent(id.replaceAll("+", "%20"));
}

const toId = (copy: ReadRecord): string =>
  `${getText(copy, "topicsync.event") ?? ""}/${getText(copy, "topicsync.topic") ?? ""}`;

/** The signature as the specification says, not as the example computes it. */
function assertSigned({ headers, body }: Attempt): void {
  const [id, timestamp] = [String(headers["webhook-id"]), String(headers["webhook-timestamp"])];
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const expected = createHmac("sha256", key).update(signed).digest("base64");
  assert.equal(headers["webhook-signature"], `v1,${expected}`);
  assert.match(timestamp, /^\d{10}$/);
}

const readTime = (attempt: Attempt | undefined): number => Number(attempt?.headers["webhook-timestamp"]);

/** Runs the line of the README in the copied folder. */
function startExample(settings: NodeJS.ProcessEnv) {
  const readme = readFileSync(join(examples, "README.md"), "utf8");
  const line = /^(mvn .*?) +# in webhook\/$/m.exec(readme)?.[1];
  assert.ok(line !== undefined, "the README has no line for webhook/");
  const child = spawn("sh", ["-c", `exec ${line}`], {
    cwd: folder,
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      keepLog(text);
    });
  const ended = once(child, "close");
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, signal);
    await ended;
  };
  after(() => end("SIGKILL"));
  return { end, ended, readLog: () => log, readExitCode: () => child.exitCode };
}

describe("the webhook example", () => {
  it("loses no copy, whatever the endpoint does, and signs each attempt", async () => {
    const endpoint = await createEndpoint();
    const scene = routerScene();
    const deadLetters = unique("webhook.dead-letter");
    const groupId = unique("webhook");
    await scene.createTopics(2);
    const service = await scene.start();
    const wanted = unique("störung.kritisch/1 ");
    await scene.post(service, defineTopic(wanted, "eventType=Wanted,Both"));
    await scene.post(service, defineTopic(unique("other"), "eventType=Other,Both"));
    await scene.stored(2);

    const abort = kafka.producer({ transactionalId: unique("aborted"), idempotent: true });
    await abort.connect();
    const transaction = await abort.transaction();
    const headers = { "topicsync.topic": wanted, "topicsync.event": "aborted-0-0" };
    await transaction.send({ topic: scene.egress, messages: [{ key: "a", value: "{}", headers }] });
    await transaction.abort();
    await abort.disconnect();

    const settings = {
      LANG: "C.UTF-8",
      KAFKA_BROKERS: stack.kafka,
      EGRESS_TOPIC: scene.egress,
      EXTERNAL_ID: wanted,
      GROUP_ID: groupId,
      DEAD_LETTER_TOPIC: deadLetters,
      WEBHOOK_URL: endpoint.url,
      WEBHOOK_SECRET: secret,
      WEBHOOK_TIMEOUT_MS: "500",
      WEBHOOK_RETRIES: "3",
      WEBHOOK_FIRST_DELAY_MS: "50",
      WEBHOOK_MAX_DELAY_MS: "200",
      // How long Kafka keeps the partitions of a killed consumer, and how long a producer waits for a topic.
      MAVEN_OPTS: "-Dcamel.component.kafka.session-timeout-ms=6000 -Dcamel.component.kafka.max-block-ms=500",
    };
    const readCopies = async () =>
      (await scene.readAll(scene.egress)).filter((copy) => getText(copy, "topicsync.topic") === wanted);
    const readDead = async () => new Map((await scene.readAll(deadLetters)).map((one) => [toId(one), one]));
    const readCommitted = async () => {
      const [group] = await admin.fetchOffsets({ groupId, topics: [scene.egress] });
      return new Map(group?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
    };
    /** What is committed was accepted, or is a dead letter. */
    const assertNothingLost = async (dead: ReadonlyMap<string, ReadRecord> = new Map()): Promise<void> => {
      const committed = await readCommitted();
      const lost = (await readCopies()).filter(
        (copy) =>
          copy.offset < (committed.get(copy.partition) ?? 0) &&
          !endpoint.isAccepted(toId(copy)) &&
          !dead.has(toId(copy)),
      );
      assert.deepEqual(lost.map(toId), []);
    };
    const settled = async (): Promise<boolean> => {
      const [copies, dead] = [await readCopies(), await readDead()];
      return copies.every((copy) => endpoint.isAccepted(toId(copy)) || dead.has(toId(copy)));
    };
    /** Sends events of both partitions; half of them are also wanted by the other topic, or only by it. */
    const send = async (): Promise<void> => {
      const types = ["Wanted", "Both", "Other", "Wanted", "Both", "Other"];
      await scene.produce(
        ...types.map((type, at) => ({
          value: createEvent(type),
          key: `key ${at}`,
          partition: at % 2,
          headers: { "webhook-signature": "v1,forged", CamelHttpUri: "http://127.0.0.1:1/", "x-note": "é" },
        })),
      );
      await scene.routed();
    };
    const first = startExample(settings);

    endpoint.follow(() => 503);
    await send();
    await until("a copy is sent again that cannot become a dead letter", () =>
      endpoint.attempts.some(({ id }) => endpoint.attempts.filter((one) => one.id === id).length > 8),
    );
    await assertNothingLost();
    await createKafkaTopics(admin, { topic: deadLetters });
    await until("all are dead letters", settled);
    endpoint.follow(() => 204);
    await send();
    await until("all copies are accepted", settled);
    endpoint.follow((nth) => (nth < 3 ? 500 : 204));
    await send();
    await until("those are accepted that failed twice", settled);
    endpoint.follow((nth) => (nth < 3 ? undefined : 204));
    await send();
    await until("those are accepted that had no answer twice", settled);
    await endpoint.close();
    await send();
    const before = (await readDead()).size;
    await until("a copy is a dead letter that found no endpoint", async () => {
      const { size } = await readDead();
      return size > before || (await settled());
    });
    endpoint.follow(() => 204);
    await endpoint.open();
    await until("the others are accepted or dead letters", settled);

    endpoint.follow(() => undefined);
    const seen = endpoint.attempts.length;
    await send();
    await until("a request has no answer", () => endpoint.attempts.length > seen);
    await first.end("SIGKILL");
    await assertNothingLost(await readDead());
    endpoint.follow(() => 204);
    const second = startExample(settings);
    await until("all copies are accepted or dead letters", settled);

    const copies = await readCopies();
    const dead = await readDead();
    assert.equal(copies.length, 6 * 4);
    for (const attempt of endpoint.attempts) {
      assertSigned(attempt);
      assert.equal(attempt.headers["content-type"], "application/json");
      assert.deepEqual(
        [attempt.headers["x-note"], attempt.headers["topicsync.topic"]],
        [undefined, undefined],
      );
      const copy = copies.find((one) => toId(one) === attempt.id);
      assert.deepEqual(attempt.body, copy?.value, `${attempt.id} is not a copy for this topic`);
    }
    for (const [id, letter] of dead) {
      const copy = copies.find((one) => toId(one) === id);
      assert.deepEqual([letter.key, letter.value], [copy?.key, copy?.value]);
      assert.match(getText(letter, "webhook-error") ?? "", /503|refused|timed out/i);
    }
    const perId = [...Map.groupBy(endpoint.attempts, ({ id }) => id).values()];
    const exhausted = perId.filter((attempts) => attempts.every(({ status }) => status === 503));
    assert.equal(exhausted.length, 4);
    for (const { length } of exhausted) assert.equal(length % 4, 0, "one attempt and three retries");
    const unanswered = perId.filter(([one, two]) => one?.status === undefined && two?.status === undefined);
    assert.ok(unanswered.length >= 4);
    // The two attempts that had no answer took a second.
    for (const [one, , three] of unanswered)
      if (three !== undefined) assert.ok(readTime(three) > readTime(one), "the time is that of the attempt");
    assertInOrder(endpoint.attempts, copies);

    await until("all is committed, also the copies of the other topic", async () => {
      const done = await readCommitted();
      const records = await scene.readAll(scene.egress);
      return records.every(({ partition, offset }) => offset < (done.get(partition) ?? 0));
    });
    await second.end("SIGTERM");
    assert.equal(await service.stop(), 0);
  });

  it("says which setting is missing", async () => {
    const example = startExample({ WEBHOOK_URL: "http://127.0.0.1:1/" });
    await example.ended;
    assert.notEqual(example.readExitCode(), 0);
    assert.match(example.readLog(), /WEBHOOK_SECRET/);
  });
});

/** Asserts that the copies of each partition were first accepted in their order. */
function assertInOrder(attempts: readonly Attempt[], copies: readonly ReadRecord[]): void {
  const accepted = new Set(attempts.filter(({ status }) => status === 204).map(({ id }) => id));
  for (const [partition, records] of Map.groupBy(copies, (copy) => copy.partition)) {
    const ids = records.map(toId);
    assert.deepEqual(
      [...accepted].filter((id) => ids.includes(id)),
      ids.filter((id) => accepted.has(id)),
      `the order of partition ${partition}`,
    );
  }
}
