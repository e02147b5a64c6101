import { RejectionError } from "@topicsync/lib/errors";
import type { RecordHeaders, SkippedBatch } from "@topicsync/kafka";
import {
  checkFormat,
  checkHeaders,
  describeMode,
  readAttributes,
  readEventData,
  rejectNested,
  type EventData,
} from "./cloud-event.ts";
import { readFramedJson, toFramedLocation, unframe } from "./confluent.ts";
import {
  createRoot,
  getCloudEventMode,
  isCloudEvent,
  isFramed,
  readJson,
  readAs,
  type Subject,
} from "./envelope.ts";

/** Opens the envelopes that the first byte, the headers and the members announce. Throws a RejectionError. */
export function openEnvelopes(value: Buffer, headers: RecordHeaders, subject: Subject): EventData {
  const root = createRoot(subject);
  const framed = isFramed(value) ? unframe(value, "value") : undefined;
  const outer = framed === undefined ? root : toFramedLocation(framed, root);
  const mode = getCloudEventMode(headers);
  const location = mode === undefined ? outer : readAs(describeMode(mode), outer);
  if (mode === "structured") checkFormat(headers, location);
  if (mode === "binary") checkHeaders(headers, location);
  const json = framed === undefined ? readJson(value, location) : readFramedJson(framed, location);

  if (mode === undefined && !isCloudEvent(json)) return { json, location };
  const data =
    mode === "binary"
      ? { json, location, attributes: () => readAttributes(headers, location) }
      : readEventData(json, mode === undefined ? readAs(describeMode("structured"), location) : location);
  rejectNested(data);
  return data;
}

/** The rejection of records that were not read. */
export const createBatchRejection = ({
  firstOffset,
  lastOffset,
  code,
  reason,
}: SkippedBatch): RejectionError =>
  new RejectionError(
    code,
    `The records from offset ${firstOffset} to ${lastOffset} are one batch, which was not read: it ${reason}.`,
  );
