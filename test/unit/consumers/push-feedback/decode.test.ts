import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { decodeReport } from "../../../../consumers/push-feedback/decode.ts";
import { toBytes, toHeaders, type NamedHeaders } from "../../../support/records.ts";

const written = Date.UTC(2026, 10, 21, 12);
const noon = "2026-11-21T12:00:00Z";
const report = { platform: "ios", token: "ab12", reason: "Unregistered" };

const decodeOne = (
  value: string | Buffer | object | null,
  { timestamp = written, headers = {} }: { timestamp?: number; headers?: NamedHeaders } = {},
) =>
  decodeReport({
    offset: 7,
    timestamp: String(timestamp),
    key: Buffer.from("anything"),
    value: value === null ? null : toBytes(value),
    headers: toHeaders(headers),
  });

function getReport(...given: Parameters<typeof decodeOne>) {
  const read = decodeOne(...given);
  assert.ok("report" in read, JSON.stringify(read));
  return read.report;
}

function getRejection(...given: Parameters<typeof decodeOne>) {
  const read = decodeOne(...given);
  assert.ok("rejection" in read, JSON.stringify(read));
  return {
    offset: read.offset,
    code: read.rejection.code,
    paths: read.rejection.details.map(({ path }) => path),
  };
}

describe("a report of a dead token", () => {
  it("is rejected with its whole batch if that was skipped", () => {
    const skippedBatch = {
      firstOffset: 3,
      lastOffset: 5,
      code: "UNDECODABLE",
      reason: "cannot be decoded",
    } as const;
    const read = decodeReport({
      offset: 5,
      timestamp: "0",
      headers: [],
      key: null,
      value: null,
      skippedBatch,
    });
    assert.ok("rejection" in read);
    assert.deepEqual([read.offset, read.rejection.code], [5, "UNDECODABLE"]);
  });

  it("has the time of its record and concerns every application by default", () => {
    assert.deepEqual(getReport(report), { ...report, application: undefined, reportedOn: new Date(noon) });
    const nulls = { ...report, application: null, reportedOn: null };
    assert.deepEqual(getReport(nulls), getReport(report));
  });

  it("may name an application and a time, in any zone", () => {
    const { application, reportedOn } = getReport({
      ...report,
      application: "Mobile Agent",
      reportedOn: "2026-11-21T12:30:00.250+01:00",
    });
    assert.equal(application, "Mobile Agent");
    assert.equal(reportedOn.toISOString(), "2026-11-21T11:30:00.250Z");
  });

  it("is never later than its record", () => {
    const late = { ...report, reportedOn: "2027-01-01T00:00:00Z" };
    assert.equal(getReport(late).reportedOn.getTime(), written);
  });

  it("keeps its time when replayed", () => {
    const headers = { "topicsync.time": Buffer.from(String(written - 5_000)) };
    assert.equal(getReport(report, { headers }).reportedOn.getTime(), written - 5_000);
  });

  it("truncates its reason to 200 characters", () => {
    const reason = `${"x".repeat(199)}\u{1F600} and more`;
    assert.equal(getReport({ ...report, reason }).reason, `${"x".repeat(199)}\uFFFD`);
  });

  it("needs its own time if the record has none", () => {
    const without = { timestamp: -1 };
    assert.deepEqual(getRejection(report, without), {
      offset: 7,
      code: "SCHEMA_VIOLATION",
      paths: ["/reportedOn"],
    });
    assert.equal(getReport({ ...report, reportedOn: noon }, without).reportedOn.getTime(), written);
  });

  it("is rejected with a reason if unusable", () => {
    const getCode = (...given: Parameters<typeof decodeOne>) => getRejection(...given).code;
    assert.equal(getCode(null), "SCHEMA_VIOLATION");
    assert.equal(getCode("{"), "MALFORMED_JSON");
    assert.equal(getCode(Buffer.from([0x22, 0xff, 0x22])), "UNDECODABLE");
    assert.equal(getCode({ ...report, reason: "x".repeat(102_400) }), "TOO_LARGE");
    assert.deepEqual(getRejection({ token: "", reason: 1, why: "x" }).paths.toSorted(), [
      "/platform",
      "/reason",
      "/token",
      "/why",
    ]);
    for (const reportedOn of ["yesterday", "2026-11-21", "2026-02-31T00:00:00Z", "2026-11-21T25:00:00Z", 5]) {
      assert.deepEqual(getRejection({ ...report, reportedOn }).paths, ["/reportedOn"], String(reportedOn));
    }
    assert.deepEqual(getRejection({ ...report, token: "t\0" }).paths, ["/token"]);
  });
});
