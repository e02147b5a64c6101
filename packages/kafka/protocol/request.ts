import { loadPrivate } from "../workarounds/patch.ts";
import { createReader, createWriter, type Reader, type Writer } from "./format.ts";

/** A request that kafkajs 2.2.4 does not have, or not in this version. */
interface KafkaRequest<T> {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
  readonly isFlexible: boolean;
  readonly encode: (writer: Writer) => void;
  /** Throws Kafka's errors. */
  readonly decode: (reader: Reader) => T | Promise<T>;
  readonly timeoutMs?: number;
}

/** The parts of kafkajs' brokers that send requests. */
export interface RequestTarget {
  /** The versions by API key; null before the broker is connected. */
  readonly versions: Readonly<Record<number, { readonly maxVersion: number }>> | null;
  readonly connectionPool: { send(request: object): Promise<unknown> };
}

/** Sends a request over a connection of kafkajs. Throws kafkajs' errors. */
export function sendRequest<T>(target: RequestTarget, request: KafkaRequest<T>): Promise<T> {
  const { apiKey, apiVersion, apiName, isFlexible, encode, decode, timeoutMs } = request;
  const Encoder = loadPrivate("protocol/encoder") as new () => { writeBuffer(bytes: Buffer): object };
  const protocol = {
    request: {
      apiKey,
      apiVersion,
      apiName,
      encode() {
        // The end of the request's header.
        const writer = createWriter(isFlexible).end();
        encode(writer);
        return Promise.resolve(new Encoder().writeBuffer(writer.toBuffer()));
      },
    },
    response: {
      async decode(bytes: Buffer) {
        const reader = createReader(bytes, isFlexible);
        // The end of the response's header.
        reader.end();
        return decode(reader);
      },
      parse: (decoded: T) => Promise.resolve(decoded),
    },
    requestTimeout: timeoutMs ?? null,
    logResponseError: false,
  };
  return target.connectionPool.send(protocol) as Promise<T>;
}

/** Throws kafkajs' error for an error code of Kafka's protocol; does nothing for 0. */
export function failOnError(code: number): void {
  if (code !== 0) throw createError(code);
}

/** Creates kafkajs' error for an error code of Kafka's protocol. */
export function createError(code: number): Error & { readonly type: string } {
  const { createErrorFromCode } = loadPrivate("protocol/error") as {
    readonly createErrorFromCode: (code: number) => Error & { readonly type: string };
  };
  return createErrorFromCode(code);
}

/** Whether a connected broker understands this version of a request. */
export const supports = (
  { versions }: Pick<RequestTarget, "versions">,
  apiKey: number,
  apiVersion: number,
): boolean => (versions?.[apiKey]?.maxVersion ?? -1) >= apiVersion;
