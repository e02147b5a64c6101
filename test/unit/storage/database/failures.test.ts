import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoNetworkError,
  MongoServerClosedError,
  MongoServerError,
  type Document,
} from "mongodb";

import { ConfigurationError, UnavailableError } from "@topicsync/lib/errors";
import { classify, translateErrors, getWriteErrors } from "../../../../src/storage/database/failures.ts";

const answer = (code: number, errmsg = `error ${code}`, ...errorLabels: string[]): MongoServerError =>
  new MongoServerError({ ok: 0, code, errmsg, errorLabels });

/** Builds an error as the driver throws it: around an error, or with the errors of single writes. */
const bulk = (error: Error | Document, writeConcernError?: Document): MongoBulkWriteError =>
  new MongoBulkWriteError(
    error as Error,
    { getWriteConcernError: () => writeConcernError } as unknown as BulkWriteResult,
  );

const listed = (...failed: [code: number, errmsg: string][]): MongoBulkWriteError => {
  const writeErrors = failed.map(([code, errmsg], index) => ({ index, code, errmsg }));
  return bulk({ message: failed[0]?.[1], code: failed[0]?.[0], writeErrors });
};

const mongoWording =
  'E11000 duplicate key error collection: t.topics index: unique_topic_id dup key: { topic_id: "a" }';
const documentDbWording = "Duplicate key violation on the requested collection: Index 'unique_topic_id'";
const namelessWording = "Duplicate key violation on the requested collection.";

describe("an error of MongoDB", () => {
  it("is a duplicate in any place of the response and in any wording", () => {
    for (const wording of [mongoWording, documentDbWording, namelessWording, ""])
      for (const error of [
        answer(11000, wording),
        bulk(answer(11000, wording)),
        listed([11000, wording]),
        listed([11000, wording], [251, "the transaction was aborted"]),
        answer(11000, wording, "TransientTransactionError"),
      ])
        assert.equal(classify(error), "duplicate");
    for (const error of [answer(112, namelessWording), bulk(answer(112, namelessWording))])
      assert.equal(classify(error), "duplicate");
  });

  it("is a conflict with or without the label", () => {
    for (const error of [
      answer(112, "WriteConflict error"),
      answer(251, "Transaction was aborted"),
      bulk(answer(112, "WriteConflict error", "TransientTransactionError")),
      answer(10107, "not primary", "TransientTransactionError"),
      answer(999, "somehow", "TransientTransactionError"),
    ])
      assert.equal(classify(error), "conflict");
  });

  it("is an outage when the server is unreachable or temporarily unable", () => {
    for (const code of [
      6, 7, 24, 43, 50, 64, 79, 89, 91, 100, 133, 134, 189, 202, 237, 262, 290, 317, 358, 365, 384, 402, 407,
      9001, 10058, 10107, 11600, 11601, 11602, 13388, 13435, 13436,
      // Around elections.
      175, 211, 217, 225,
    ])
      for (const error of [answer(code), bulk(answer(code)), listed([code, "now"])])
        assert.equal(classify(error), "outage", `${code}`);
    for (const label of ["RetryableWriteError", "SystemOverloadedError", "RetryableError"])
      assert.equal(classify(answer(999, "somehow", label)), "outage", label);
    const lost = new MongoNetworkError("connection 7 closed");
    lost.addErrorLabel("TransientTransactionError");
    const socket = Object.assign(new Error("write EPIPE"), { syscall: "write" });
    const removed = new MongoServerClosedError();
    for (const error of [lost, bulk(lost), socket, bulk(socket), removed])
      assert.equal(classify(error), "outage");
  });

  it("is an outage when the writes of a bulk may not be durable, even if some of them failed", () => {
    const timeout = { code: 64, errmsg: "waiting for replication timed out" };
    const writeErrors = [{ index: 0, code: 11000, errmsg: mongoWording }];
    const error = bulk({ message: mongoWording, code: 11000, writeErrors }, timeout);
    assert.equal(classify(error), "outage");
    assert.equal(getWriteErrors(error), undefined);
  });

  it("keeps its kind when it concerns a bulk as a whole", () => {
    for (const [code, kind] of [
      [13, "forbidden"],
      [8000, "forbidden"],
      [18, "credentials"],
      [20, "unsupported"],
      [263, "unsupported"],
      [66, "unforeseen"],
      [10334, "unforeseen"],
      [14031, "unforeseen"],
    ] as const) {
      assert.equal(classify(answer(code)), kind, `${code}`);
      assert.equal(classify(bulk(answer(code))), kind, `${code} of a bulk`);
    }
    assert.equal(classify(new Error("a fault of ours")), "unforeseen");
    assert.equal(classify(bulk(new Error("a fault of ours"))), "unforeseen");
  });

  it("may be one of PostgreSQL, whose code DocumentDB turns into a number", () => {
    /** Six bits for each character, as MAKE_SQLSTATE does. */
    const toNumber = (state: string): number =>
      Array.from(state).reduceRight((sum, character) => sum * 64 + (character.charCodeAt(0) - 48), 0);
    assert.equal(toNumber("57P03"), 50_463_173);
    for (const [state, kind] of [
      ["08003", "outage"],
      ["08006", "outage"],
      ["53300", "outage"],
      ["53400", "unforeseen"],
      ["57P01", "outage"],
      ["57P03", "outage"],
      ["40001", "conflict"],
      ["40P01", "conflict"],
      ["42P01", "unforeseen"],
      ["XX001", "unforeseen"],
    ] as const)
      assert.equal(classify(answer(toNumber(state))), kind, state);
  });

  it("is distinguished by its message from another with the same code", () => {
    assert.equal(classify(answer(301, "Retryable writes are not supported")), "unsupported");
    assert.equal(classify(answer(301, "Data corruption detected")), "unforeseen");
    assert.equal(classify(answer(8000, "bad auth : authentication failed")), "credentials");
    assert.equal(classify(answer(8000, "CMD_NOT_ALLOWED: killSessions")), "forbidden");
    assert.equal(
      classify(
        answer(
          8000,
          "you are over your space quota, using 513 MB of 512 MB. user is not allowed to do action",
        ),
      ),
      "outage",
    );
    assert.equal(classify(answer(303, "Feature not supported: $changeStream")), "unsupported");
    assert.equal(classify(answer(303, "the split horizon changed")), "outage");
  });
});

describe("a translated error of MongoDB", () => {
  const translate = (error: unknown): string => {
    const given = translateErrors(error);
    return given instanceof UnavailableError ? given.message : "itself";
  };

  it("is an UnavailableError only for outages, conflicts and credentials", () => {
    assert.match(translate(answer(91, "shutting down")), /^MongoDB does not respond: shutting down/);
    assert.match(
      translate(answer(112, "WriteConflict error")),
      /^MongoDB aborted the transaction: WriteConflict/,
    );
    assert.match(translate(answer(18, "Authentication failed.")), /^MongoDB does not accept the credentials/);
    for (const error of [answer(13), bulk(answer(14031)), answer(11000), new Error("a fault of ours")])
      assert.equal(translate(error), "itself");
  });

  it("names the setting for a MongoDB without retryable writes", () => {
    for (const wrap of [(error: Error) => error, bulk]) {
      const given = translateErrors(wrap(answer(301, "Retryable writes are not supported")));
      assert.ok(given instanceof ConfigurationError);
      assert.match(given.message, /retryWrites=false/);
    }
  });
});
