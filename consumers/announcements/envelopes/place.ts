import { Refusal, sentenceOf, type Fault, type RefusalCode } from "../../../src/lib/errors.ts";

/** Where in a record something stands, and as what the record was read: a refusal says both. */
export interface Place {
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
export const plain: Place = { form: undefined, pointer: "", inner: undefined };

/** The same place, once it is known to be `form`: "a TMF688 notification in a CloudEvent (binary mode)". */
export const readAs = (form: string, place: Place): Place => ({
  ...place,
  form: place.form === undefined ? form : `${form} in ${place.form}`,
});

/** The place that a JSON Pointer leads to from another one. */
export const below = (place: Place, pointer: string): Place =>
  place.inner === undefined
    ? { ...place, pointer: place.pointer + pointer }
    : { ...place, inner: place.inner + pointer };

/** The place of a text that holds JSON. */
export const inText = (place: Place, pointer: string): Place => ({ ...below(place, pointer), inner: "" });

/** `predicate` says what is wrong with the announcement; the faults' paths begin at the place. */
export function refusalAt(
  place: Place,
  code: RefusalCode,
  predicate: string,
  faults: readonly Fault[] = [],
): Refusal {
  const found = faults.map((fault) => located(fault, place));
  const sentences = faults.length === 0 ? "" : ` ${sentenceOf(found, "The value")}`;
  return new Refusal(code, sentenceAt(place, predicate) + sentences, found);
}

/** What is wrong, with the announcement as its subject. */
export const sentenceAt = ({ form }: Place, predicate: string): string =>
  form === undefined
    ? `The announcement ${predicate}`
    : `The announcement was read as ${form}: it ${predicate}`;

const located = ({ path, message }: Fault, { pointer, inner }: Place): Fault =>
  inner === undefined
    ? { path: pointer + path, message }
    : { path: pointer, message: `holds JSON of which ${inner + path || "the whole"} ${message}` };
