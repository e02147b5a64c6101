import { RefusalError, toSentence, type Fault, type RefusalCode } from "../../../src/lib/errors.ts";

/** Where in a record something stands, and as what the record was read: a refusal says both. */
export interface JsonLocation {
  /** Such as "a CloudEvent (structured mode)"; undefined for a plain definition. */
  readonly form: string | undefined;
  /** JSON Pointer from the root of the record's value. */
  readonly pointer: string;
  /**
   * Set where the pointer leads to a text that is JSON once more, which no pointer from the root can enter: the pointer
   * inside it.
   */
  readonly inner: string | undefined;
}

/** The root of a value without an envelope. */
export const plain: JsonLocation = { form: undefined, pointer: "", inner: undefined };

/** The same place, once it is known to be `form`: "a TMF688 notification in a CloudEvent (binary mode)". */
export const readAs = (form: string, place: JsonLocation): JsonLocation => ({
  ...place,
  form: place.form === undefined ? form : `${form} in ${place.form}`,
});

/** The place that a JSON Pointer leads to from another one. */
export const member = (place: JsonLocation, pointer: string): JsonLocation =>
  place.inner === undefined
    ? { ...place, pointer: place.pointer + pointer }
    : { ...place, inner: place.inner + pointer };

/** The place of a text that holds JSON. */
export const inText = (place: JsonLocation, pointer: string): JsonLocation => ({
  ...member(place, pointer),
  inner: "",
});

/** `predicate` says what is wrong with the announcement; the faults' paths begin at the place. */
export function createRefusal(
  place: JsonLocation,
  code: RefusalCode,
  predicate: string,
  faults: readonly Fault[] = [],
): RefusalError {
  const found = faults.map((fault) => located(fault, place));
  const sentences = faults.length === 0 ? "" : ` ${toSentence(found, "The value")}`;
  return new RefusalError(code, sentenceAt(place, predicate) + sentences, found);
}

/** What is wrong, with the announcement as its subject. */
export const sentenceAt = ({ form }: JsonLocation, predicate: string): string =>
  form === undefined
    ? `The announcement ${predicate}`
    : `The announcement was read as ${form}: it ${predicate}`;

const located = ({ path, message }: Fault, { pointer, inner }: JsonLocation): Fault =>
  inner === undefined
    ? { path: pointer + path, message }
    : { path: pointer, message: `holds JSON of which ${inner + path || "the whole"} ${message}` };
