/** Requests that fail one time after another, each time in another way. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import kafkajs from "kafkajs";

import { ConfigurationError, KafkaUnavailableError } from "@topicsync/lib/errors";
import { errorCodes } from "../protocol/error-codes.ts";
import { createError } from "../protocol/request.ts";
import { createRequests } from "../requests.ts";
import { useVirtualTime } from "../../../test/support/virtual-time.ts";

const closed = new kafkajs.KafkaJSConnectionError("Closed connection");
const timedOut = new kafkajs.KafkaJSError("Request Metadata timed out");
const noLeader = createError(errorCodes.leaderNotAvailable);
const denied = createError(errorCodes.topicAuthorizationFailed);
const fault = new TypeError("undefined is not a function");

const retryMs = 200;
const metadata = { brokers: [], clusterId: "cluster", controllerId: 1, topics: [] };

/** What a broker responds to one request after another. Errors are thrown. */
type Responses = Readonly<Record<string, readonly unknown[]>>;

/**
 * A cluster whose connections fail like this, one after another, and whose brokers respond like this to the
 * requests of each name.
 */
function createScene(t: TestContext, connections: readonly (Error | undefined)[], responses: Responses) {
  const time = useVirtualTime(t);
  const calls: string[] = [];
  const left = new Map(Object.entries(responses).map(([name, all]) => [name, [...all]]));
  const connecting = [...connections];
  const broker = {
    // OffsetFetch
    versions: { 9: { maxVersion: 8 } },
    connectionPool: {
      async send({ request }: { readonly request: { readonly apiName: string } }) {
        calls.push(request.apiName);
        await Promise.resolve();
        const response = left.get(request.apiName)?.shift();
        assert.ok(response !== undefined, `one ${request.apiName} more than expected`);
        if (response instanceof Error) throw response;
        return response;
      },
    },
  };
  const cluster = {
    async connect() {
      calls.push("connect");
      await Promise.resolve();
      const failure = connecting.shift();
      if (failure !== undefined) throw failure;
    },
    refreshMetadata: () => Promise.resolve(),
    brokerPool: { versions: {}, findConnectedBroker: () => Promise.resolve(broker) },
    findControllerBroker: () => Promise.resolve(broker),
    findGroupCoordinator: () => Promise.resolve(broker),
  };
  return { requests: createRequests(() => cluster), time, calls };
}

describe("a request to Kafka", () => {
  it("succeeds after a lost connection and an error of the broker, with one response", async (t) => {
    const { requests, time, calls } = createScene(t, [closed], { Metadata: [timedOut, metadata] });
    const response = requests.fetchMetadata([]);
    await time.pass(2 * retryMs);
    assert.equal(await response, metadata);
    assert.deepEqual(calls, ["connect", "connect", "Metadata", "connect", "Metadata"]);
    assert.deepEqual(time.delays, [retryMs, retryMs]);
  });

  it("fails with its third error, and is not sent again", async (t) => {
    const { requests, time, calls } = createScene(t, [closed], { Metadata: [timedOut, noLeader] });
    const failure = assert.rejects(requests.fetchMetadata([]), (error: unknown) => {
      assert.ok(error instanceof KafkaUnavailableError);
      assert.equal(error.cause, noLeader);
      return true;
    });
    await time.pass(60_000);
    await failure;
    assert.deepEqual(calls, ["connect", "connect", "Metadata", "connect", "Metadata"]);
    assert.deepEqual(time.delays, [retryMs, retryMs]);
  });

  it("is not sent again after an error that waiting does not help against", async (t) => {
    for (const [error, isExpected] of [
      [
        denied,
        (thrown: unknown) =>
          thrown instanceof ConfigurationError &&
          thrown.message === 'Kafka denies its user Describe on topic "a" (TOPIC_AUTHORIZATION_FAILED)',
      ],
      [fault, (thrown: unknown) => thrown === fault],
    ] as const) {
      const { requests, time, calls } = createScene(t, [closed], { Metadata: [error] });
      const failure = assert.rejects(requests.fetchBounds("a", "committed"), isExpected);
      await time.pass(60_000);
      await failure;
      assert.deepEqual(calls, ["connect", "connect", "Metadata"]);
      assert.deepEqual(time.delays, [retryMs]);
    }
  });

  it("that belongs to a transaction is sent once, and its error is that of kafkajs", async (t) => {
    const { requests, time, calls } = createScene(t, [], { OffsetFetch: [timedOut] });
    const failure = assert.rejects(
      requests.fetchStableOffset({ groupId: "g", topic: "a", partition: 0 }),
      timedOut,
    );
    await time.pass(60_000);
    await failure;
    assert.deepEqual([calls, time.delays], [["connect", "OffsetFetch"], []]);
  });
});

describe("the creation of Kafka topics", () => {
  const create = (name: string) => ({ name, partitions: 1, replication: 1, settings: {} });
  const created = (name: string) => ({ name, error: 0, message: null });

  it("succeeds after a lost connection and an election of the controller, once", async (t) => {
    const notController = { name: "a", error: errorCodes.notController, message: null };
    const { requests, time, calls } = createScene(t, [closed], {
      CreateTopics: [[notController], [created("a")]],
      Metadata: [metadata],
    });
    const response = requests.createTopics([create("a")]);
    await time.pass(2 * retryMs);
    assert.deepEqual(await response, [{ name: "a", isCreated: true, refusal: undefined }]);
    assert.deepEqual(calls.slice(1), ["connect", "CreateTopics", "connect", "CreateTopics", "Metadata"]);
  });

  it("is not repeated, and counts, if the brokers are lost while it waits for leaders", async (t) => {
    const { requests, time, calls } = createScene(t, [], {
      CreateTopics: [[created("a")], [{ name: "a", error: errorCodes.topicAlreadyExists, message: null }]],
      Metadata: [closed, noLeader, metadata],
    });
    const response = requests.createTopics([create("a")]);
    await time.pass(1_000);
    assert.deepEqual(await response, [{ name: "a", isCreated: true, refusal: undefined }]);
    assert.deepEqual(calls, ["connect", "CreateTopics", "Metadata", "Metadata", "Metadata"]);
  });
});
