/** One simulated connection. */
import { EventEmitter } from "node:events";

import type { Clock, Host } from "./clock.ts";
import type { LinkFault } from "./network.ts";
import type { Random } from "./random.ts";
import { messages, type MessageName } from "./wire/messages.ts";

/** The server's end of a connection. */
export interface Connection {
  readonly client: Host;
  readonly send: (bytes: Buffer) => void;
}

export interface Peer {
  readonly onData: (bytes: Buffer) => void;
  readonly onClosed: () => void;
}

export interface Server {
  readonly host: Host;
  readonly isUp: () => boolean;
  readonly accept: (connection: Connection) => Peer;
}

/** `short`: the response ends too early, but says so with its size. */
export type SocketFault = LinkFault | "short";

/** What happens to the next request, or to the next of a kind. */
export interface QueuedFault {
  readonly fault: SocketFault;
  readonly request: MessageName | undefined;
}

export interface Link {
  readonly faults: QueuedFault[];
  cutUntil: number;
}

type Pipe<Message> = (message: Message, extraMs?: number) => void;

type ToServer =
  | { readonly kind: "connect" | "end" | "reset" }
  | { readonly kind: "data"; readonly bytes: Buffer; readonly fault: SocketFault | undefined };
type ToClient =
  | { readonly kind: "connected" | "refused" | "reset" | "end" }
  | { readonly kind: "data"; readonly bytes: Buffer };

export interface Wire {
  readonly clock: Clock;
  readonly random: Random;
  /** Some worlds split what is sent anywhere. */
  readonly splits: boolean;
  readonly onDisturbed: () => void;
  readonly onClosed: (socket: SimulatedSocket) => void;
}

const getLatency = (random: Random): number => 0.2 + random.next() * 1.5;

/** One direction: what is sent arrives in order, once the link is not cut any more. */
function createPipe<Message>(
  { clock, random }: Wire,
  link: Link,
  to: Host,
  deliver: (message: Message) => void,
): Pipe<Message> {
  let lastArrival = 0;
  return (message, extraMs = 0) => {
    const now = clock.getTime();
    lastArrival = Math.max(lastArrival, now, link.cutUntil) + getLatency(random) + extraMs;
    clock.schedule(to, lastArrival - now, () => {
      deliver(message);
    });
  };
}

const createError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** Each request is written at once: its size, and then the key of its kind. */
const keyAt = 4;

function takeFault(queue: QueuedFault[], written: Buffer): SocketFault | undefined {
  const key = written.length < keyAt + 2 ? undefined : written.readInt16BE(keyAt);
  const index = queue.findIndex(({ request }) => request === undefined || messages[request].key === key);
  return index === -1 ? undefined : queue.splice(index, 1)[0]?.fault;
}

/** A size and the number of the request. */
const headBytes = 8;

function shorten(response: Buffer, random: Random): Buffer {
  const short = Buffer.from(response.subarray(0, random.between(headBytes, response.length)));
  short.writeInt32BE(short.length - 4);
  return short;
}

/** The parts of a socket that kafkajs and the product use. */
export class SimulatedSocket extends EventEmitter {
  readonly client: Host;
  readonly server: Server;
  readonly address: string;
  readonly #wire: Wire;
  readonly #link: Link;
  readonly #toServer: Pipe<ToServer>;
  readonly #toClient: Pipe<ToClient>;
  #state: "connecting" | "open" | "closed" = "connecting";
  #isEnded = false;
  #peer: Peer | undefined;
  /** The server's responses are lost. */
  #isDeaf = false;
  #losesResponse = false;
  #isShort = false;
  #slowMs = 0;

  constructor(wire: Wire, link: Link, ends: { client: Host; server: Server; address: string }) {
    super();
    this.client = ends.client;
    this.server = ends.server;
    this.address = ends.address;
    this.#wire = wire;
    this.#link = link;
    this.#toServer = createPipe(wire, link, this.server.host, (message: ToServer) => {
      this.#onServer(message);
    });
    this.#toClient = createPipe(wire, link, this.client, (message: ToClient) => {
      this.#onClient(message);
    });
    this.#toServer({ kind: "connect" });
  }

  // What the client calls.

  write(data: Buffer): boolean {
    if (this.#state === "closed" || this.#isEnded) return false;
    const fault = takeFault(this.#link.faults, data);
    if (fault !== undefined) this.#wire.onDisturbed();
    // A copy: the library may use its buffer again.
    this.#toServer({ kind: "data", bytes: Buffer.from(data), fault });
    return true;
  }

  end(): this {
    if (this.#isEnded || this.#state === "closed") return this;
    this.#isEnded = true;
    if (this.#state === "open") this.#toServer({ kind: "end" });
    return this;
  }

  /** Nothing arrives afterwards. */
  destroy(error?: Error): this {
    if (this.#state === "closed") return this;
    this.#state = "closed";
    this.#toServer({ kind: "reset" });
    this.#wire.clock.schedule(this.client, 0, () => {
      this.#emitClosed(error);
    });
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Both ends see a lost connection. */
  breakOff(): void {
    this.#isDeaf = true;
    this.#closePeer();
    this.#toClient({ kind: "reset" });
  }

  /** The server notices that the client's machine is gone. */
  forget(): void {
    this.#isDeaf = true;
    this.#closePeer();
  }

  #closePeer(): void {
    const peer = this.#peer;
    this.#peer = undefined;
    peer?.onClosed();
  }

  #close(error?: Error): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#emitClosed(error);
  }

  #emitClosed(error?: Error): void {
    this.#wire.onClosed(this);
    if (error !== undefined) this.emit("error", error);
    this.emit("close", error !== undefined);
  }

  #onClient(message: ToClient): void {
    if (this.#state === "closed") return;
    switch (message.kind) {
      case "connected":
        this.#state = "open";
        this.emit("connect");
        if (this.#isEnded) this.#toServer({ kind: "end" });
        break;
      case "refused":
        this.#close(createError("ECONNREFUSED", `connect ECONNREFUSED ${this.address}`));
        break;
      case "reset":
        this.#close(createError("ECONNRESET", "read ECONNRESET"));
        break;
      case "end":
        this.emit("end");
        this.#close();
        break;
      case "data":
        this.emit("data", message.bytes);
    }
  }

  #onServer(message: ToServer): void {
    if (message.kind === "connect") {
      this.#onConnect();
      return;
    }
    if (this.#peer === undefined) return;
    if (message.kind === "data") {
      this.#onRequest(this.#peer, message.bytes, message.fault);
      return;
    }
    this.#closePeer();
    if (message.kind === "end") this.#toClient({ kind: "end" });
  }

  #onConnect(): void {
    if (this.#state === "closed") return;
    if (!this.server.isUp()) {
      this.#toClient({ kind: "refused" });
      return;
    }
    this.#peer = this.server.accept({
      client: this.client,
      send: (bytes) => {
        this.#respond(bytes);
      },
    });
    this.#toClient({ kind: "connected" });
  }

  #onRequest(peer: Peer, bytes: Buffer, fault: SocketFault | undefined): void {
    switch (fault) {
      case "request":
        this.breakOff();
        return;
      case "late":
        this.#isDeaf = true;
        this.#toClient({ kind: "reset" });
        this.#wire.clock.schedule(this.server.host, this.#wire.random.between(5, 3_000), () => {
          if (this.#peer === peer) peer.onData(bytes);
        });
        return;
      case "response":
        this.#losesResponse = true;
        break;
      case "slow":
        this.#slowMs = this.#wire.random.between(200, 4_000);
        break;
      case "short":
        this.#isShort = true;
        break;
      case undefined:
    }
    peer.onData(bytes);
  }

  #respond(response: Buffer): void {
    if (this.#isDeaf || this.#peer === undefined) return;
    if (this.#losesResponse) {
      this.breakOff();
      return;
    }
    const { random, splits } = this.#wire;
    const bytes = this.#isShort ? shorten(response, random) : response;
    this.#isShort = false;
    const slowMs = this.#slowMs;
    this.#slowMs = 0;
    if (!splits || bytes.length < 2 || !random.chance(0.3)) {
      this.#toClient({ kind: "data", bytes }, slowMs);
      return;
    }
    const at = random.between(1, bytes.length);
    this.#toClient({ kind: "data", bytes: bytes.subarray(0, at) }, slowMs);
    this.#toClient({ kind: "data", bytes: bytes.subarray(at) });
  }
}
