import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { decodeReport } from "../../../../consumers/push-feedback/decode.ts";
import type { RecordHeaders } from "../../../../src/sync/records.ts";
import { bytesOf } from "../../../support/records.ts";

const written = Date.UTC(2026, 10, 21, 12);
const noon = "2026-11-21T12:00:00Z";
const report = { platform: "ios", token: "ab12", reason: "Unregistered" };

const decoded = (
  value: string | Buffer | object | null,
  { timestamp = written, headers = {} }: { timestamp?: number; headers?: RecordHeaders } = {},
) =>
  decodeReport({
    offset: 7,
    timestamp: String(timestamp),
    key: Buffer.from("anything"),
    value: value === null ? null : bytesOf(value),
    headers,
  });

function reportOf(...given: Parameters<typeof decoded>) {
  const read = decoded(...given);
  assert.ok("report" in read, JSON.stringify(read));
  return read.report;
}

function refusalOf(...given: Parameters<typeof decoded>) {
  const read = decoded(...given);
  assert.ok("refusal" in read, JSON.stringify(read));
  return {
    offset: read.offset,
    code: read.refusal.code,
    paths: read.refusal.details.map(({ path }) => path),
  };
}

describe("a report of a dead token", () => {
  it("is refused with all of its batch when that was not read", () => {
    const skippedBatch = { firstOffset: 3, lastOffset: 5, maxBytes: 1_000 };
    const read = decodeReport({
      offset: 5,
      timestamp: "0",
      headers: {},
      key: null,
      value: null,
      skippedBatch,
    });
    assert.ok("refusal" in read);
    assert.deepEqual([read.offset, read.refusal.code], [5, "TOO_LARGE"]);
  });

  it("is of the record's time and of every application, when it does not say more", () => {
    assert.deepEqual(reportOf(report), { ...report, application: undefined, reportedOn: new Date(noon) });
    const nulls = { ...report, application: null, reportedOn: null };
    assert.deepEqual(reportOf(nulls), reportOf(report));
  });

  it("may name an application and a time, in any zone", () => {
    const { application, reportedOn } = reportOf({
      ...report,
      application: "Mobile Agent",
      reportedOn: "2026-11-21T12:30:00.250+01:00",
    });
    assert.equal(application, "Mobile Agent");
    assert.equal(reportedOn.toISOString(), "2026-11-21T11:30:00.250Z");
  });

  it("is never of a later time than its record", () => {
    const late = { ...report, reportedOn: "2027-01-01T00:00:00Z" };
    assert.equal(reportOf(late).reportedOn.getTime(), written);
  });

  it("is as old as it was when it is replayed", () => {
    const headers = { "topicsync.time": Buffer.from(String(written - 5_000)) };
    assert.equal(reportOf(report, { headers }).reportedOn.getTime(), written - 5_000);
  });

  it("keeps 200 characters of its reason", () => {
    const reason = `${"x".repeat(199)}\u{1F600} and more`;
    assert.equal(reportOf({ ...report, reason }).reason, `${"x".repeat(199)}\uFFFD`);
  });

  it("needs a time of its own where the record has none", () => {
    const without = { timestamp: -1 };
    assert.deepEqual(refusalOf(report, without), {
      offset: 7,
      code: "SCHEMA_VIOLATION",
      paths: ["/reportedOn"],
    });
    assert.equal(reportOf({ ...report, reportedOn: noon }, without).reportedOn.getTime(), written);
  });

  it("is refused with the reason when it cannot be used", () => {
    const code = (...given: Parameters<typeof decoded>) => refusalOf(...given).code;
    assert.equal(code(null), "SCHEMA_VIOLATION");
    assert.equal(code("{"), "MALFORMED_JSON");
    assert.equal(code(Buffer.from([0x22, 0xff, 0x22])), "UNDECODABLE");
    assert.equal(code({ ...report, reason: "x".repeat(102_400) }), "TOO_LARGE");
    assert.deepEqual(refusalOf({ token: "", reason: 1, why: "x" }).paths.toSorted(), [
      "/platform",
      "/reason",
      "/token",
      "/why",
    ]);
    for (const reportedOn of ["yesterday", "2026-11-21", "2026-02-31T00:00:00Z", "2026-11-21T25:00:00Z", 5]) {
      assert.deepEqual(refusalOf({ ...report, reportedOn }).paths, ["/reportedOn"], String(reportedOn));
    }
    assert.deepEqual(refusalOf({ ...report, token: "t\0" }).paths, ["/token"]);
  });
});
