import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after } from "node:test";

/** A span as it was received. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** "" without one. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 5 consumer. */
  readonly kind: number;
  /** Nanoseconds since 1970. */
  readonly began: bigint;
  readonly ended: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface Receiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): void;
}

/** Starts a receiver of OTLP over HTTP with protobuf; it is stopped after the tests of this file. */
export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const known =
        request.url === "/v1/traces" && request.headers["content-type"] === "application/x-protobuf";
      if (known) spans.push(...decodeSpans(body));
      response.writeHead(known ? 200 : 400, { "Content-Type": "application/x-protobuf" }).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  after(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, close };
}

/** The fields of a protobuf message by number: bytes, or a number of any width. */
type Message = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** The spans of an `ExportTraceServiceRequest` (opentelemetry-proto, trace/v1). */
function decodeSpans(body: Buffer): ReceivedSpan[] {
  return getMessages(decodeMessage(body), 1).flatMap((ofResource) => {
    const resource = Object.assign(
      {},
      ...getMessages(ofResource, 1).map((one) => decodeAttributes(one, 1)),
    ) as object;
    return getMessages(ofResource, 2)
      .flatMap((scope) => getMessages(scope, 2))
      .map((span) => ({ ...toSpan(span), resource: { ...resource } }));
  });
}

const toSpan = (span: Message): Omit<ReceivedSpan, "resource"> => ({
  traceId: getBytes(span, 1).toString("hex"),
  spanId: getBytes(span, 2).toString("hex"),
  parentSpanId: getBytes(span, 4).toString("hex"),
  name: getBytes(span, 5).toString(),
  kind: Number(getNumber(span, 6)),
  began: getNumber(span, 7),
  ended: getNumber(span, 8),
  attributes: decodeAttributes(span, 9),
  links: getMessages(span, 13).map((link) => ({
    traceId: getBytes(link, 1).toString("hex"),
    spanId: getBytes(link, 2).toString("hex"),
  })),
  status: Number(getMessages(span, 15).map((status) => getNumber(status, 3))[0] ?? 0n),
});

const decodeAttributes = (message: Message, field: number): Record<string, unknown> =>
  Object.fromEntries(
    getMessages(message, field).map((one) => [
      getBytes(one, 1).toString(),
      getMessages(one, 2).map((value) => {
        if (value.has(1)) return getBytes(value, 1).toString();
        return value.has(2) ? getNumber(value, 2) === 1n : Number(getNumber(value, 3));
      })[0],
    ]),
  );

const getMessages = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).flatMap((one) => (Buffer.isBuffer(one) ? [decodeMessage(one)] : []));
const getBytes = (message: Message, field: number): Buffer => {
  const [value] = message.get(field) ?? [];
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
};
const getNumber = (message: Message, field: number): bigint => {
  const [value] = message.get(field) ?? [];
  return typeof value === "bigint" ? value : 0n;
};

/** Reads protobuf's wire format. */
function decodeMessage(data: Buffer): Message {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = data.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => data.subarray(at, (at += length));
  const readValue = (type: number): Buffer | bigint => {
    switch (type) {
      case 0:
        return readVarint();
      case 1:
        return take(8).readBigUInt64LE();
      case 2:
        return take(Number(readVarint()));
      case 5:
        return BigInt(take(4).readUInt32LE());
      default:
        throw new Error(`protobuf has no wire type ${type} that is in use`);
    }
  };
  while (at < data.length) {
    const tag = Number(readVarint());
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), readValue(tag & 7)]);
  }
  return fields;
}
