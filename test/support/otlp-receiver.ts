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

/** A receiver of OTLP over HTTP with protobuf, ended after the tests of this file. */
export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const known =
        request.url === "/v1/traces" && request.headers["content-type"] === "application/x-protobuf";
      if (known) spans.push(...spansIn(body));
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

/** Fields of a message of protobuf by number: bytes, or a number of whatever width. */
type Message = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** The spans of an `ExportTraceServiceRequest` (opentelemetry-proto, trace/v1). */
function spansIn(body: Buffer): ReceivedSpan[] {
  return messages(messageIn(body), 1).flatMap((ofResource) => {
    const resource = Object.assign(
      {},
      ...messages(ofResource, 1).map((one) => attributesIn(one, 1)),
    ) as object;
    return messages(ofResource, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => ({ ...spanIn(span), resource: { ...resource } }));
  });
}

const spanIn = (span: Message): Omit<ReceivedSpan, "resource"> => ({
  traceId: bytes(span, 1).toString("hex"),
  spanId: bytes(span, 2).toString("hex"),
  parentSpanId: bytes(span, 4).toString("hex"),
  name: bytes(span, 5).toString(),
  kind: Number(number(span, 6)),
  began: number(span, 7),
  ended: number(span, 8),
  attributes: attributesIn(span, 9),
  links: messages(span, 13).map((link) => ({
    traceId: bytes(link, 1).toString("hex"),
    spanId: bytes(link, 2).toString("hex"),
  })),
  status: Number(messages(span, 15).map((status) => number(status, 3))[0] ?? 0n),
});

const attributesIn = (message: Message, field: number): Record<string, unknown> =>
  Object.fromEntries(
    messages(message, field).map((one) => [
      bytes(one, 1).toString(),
      messages(one, 2).map((value) => {
        if (value.has(1)) return bytes(value, 1).toString();
        return value.has(2) ? number(value, 2) === 1n : Number(number(value, 3));
      })[0],
    ]),
  );

const messages = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).flatMap((one) => (Buffer.isBuffer(one) ? [messageIn(one)] : []));
const bytes = (message: Message, field: number): Buffer => {
  const [value] = message.get(field) ?? [];
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
};
const number = (message: Message, field: number): bigint => {
  const [value] = message.get(field) ?? [];
  return typeof value === "bigint" ? value : 0n;
};

/** Reads protobuf's wire format. */
function messageIn(data: Buffer): Message {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = data.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => data.subarray(at, (at += length));
  const valueOf = (type: number): Buffer | bigint => {
    switch (type) {
      case 0:
        return varint();
      case 1:
        return take(8).readBigUInt64LE();
      case 2:
        return take(Number(varint()));
      case 5:
        return BigInt(take(4).readUInt32LE());
      default:
        throw new Error(`protobuf has no wire type ${type} that is in use`);
    }
  };
  while (at < data.length) {
    const tag = Number(varint());
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), valueOf(tag & 7)]);
  }
  return fields;
}
