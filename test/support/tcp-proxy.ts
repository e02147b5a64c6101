import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after } from "node:test";

/** How a protocol splits its stream into messages, and how each is handled. */
export interface Messages {
  /**
   * The length of the message that begins here, with its header; undefined while the header is incomplete.
   */
  readLength(head: Buffer): number | undefined;
  /** Handles a request: passes it on, now or later, or responds in the server's place. */
  request?(message: Buffer, pass: (message: Buffer) => void, reply: (answer: Buffer) => void): void;
  /** Returns what is passed on instead of a response. */
  answer?(message: Buffer): Buffer;
}

/** A proxy on 127.0.0.1 that simulates network faults. It is closed after the tests of the file. */
export interface TcpProxy {
  readonly port: number;
  /** Resets all connections, and new ones until `heal`. */
  cut(): void;
  /** Resets all connections; new ones work. */
  reset(): void;
  /** Keeps all connections open but drops their data, also that of new ones until `heal`. */
  freeze(): void;
  /** Delays every response, in milliseconds. */
  delay(ms: number): void;
  /** Lets new connections work. Frozen ones stay dead, as if a router had dropped their state. */
  heal(): void;
  /** Calls back once, after this many more bytes of responses have been passed on. */
  afterAnswers(bytes: number, then: () => void): void;
}

interface Connection {
  frozen: boolean;
  reset(): void;
}

const localhost = "127.0.0.1";

/** Starts a proxy before a server on this machine. `protocol` is called once for each connection. */
export async function startTcpProxy(targetPort: number, protocol?: () => Messages): Promise<TcpProxy> {
  let state: "open" | "cut" | "frozen" = "open";
  let delayMs = 0;
  let watch: { bytes: number; readonly then: () => void } | undefined;
  const connections = new Set<Connection>();

  function count(bytes: number): void {
    if (watch === undefined) return;
    watch.bytes -= bytes;
    if (watch.bytes > 0) return;
    const { then } = watch;
    watch = undefined;
    then();
  }

  function accept(client: Socket): void {
    if (state === "cut") {
      reset(client);
      return;
    }
    const server = connect(targetPort, localhost);
    const messages = protocol?.();
    const connection: Connection = {
      frozen: state === "frozen",
      reset() {
        reset(client);
        server.destroy();
      },
    };
    connections.add(connection);
    const toServer = (message: Buffer): void => void server.write(message);
    const toClient = (message: Buffer): void => void client.write(message);
    const requests = createSplitter(messages, (message) => {
      if (messages?.request === undefined) toServer(message);
      else messages.request(message, toServer, toClient);
    });
    const answers = createSplitter(messages, (message) => {
      toClient(messages?.answer?.(message) ?? message);
    });
    client.on("data", (chunk) => {
      if (!connection.frozen) requests(chunk);
    });
    server.on("data", (chunk) => {
      const pass = (): void => {
        if (connection.frozen || client.destroyed) return;
        answers(chunk);
        count(chunk.length);
      };
      if (delayMs === 0) pass();
      else setTimeout(pass, delayMs);
    });
    client.setNoDelay().on("error", () => server.destroy());
    client.on("close", () => {
      server.destroy();
      connections.delete(connection);
    });
    server.setNoDelay().on("error", () => undefined);
    server.on("close", () => {
      if (!connection.frozen) client.destroy();
    });
  }

  const listener = createServer(accept).listen(0, localhost);
  await once(listener, "listening");
  const resetAll = (): void => {
    for (const connection of connections) connection.reset();
  };
  after(() => {
    resetAll();
    listener.close();
  });

  return {
    port: (listener.address() as AddressInfo).port,
    cut() {
      state = "cut";
      resetAll();
    },
    reset: resetAll,
    freeze() {
      state = "frozen";
      for (const connection of connections) connection.frozen = true;
    },
    delay: (ms) => void (delayMs = ms),
    heal() {
      state = "open";
      delayMs = 0;
    },
    afterAnswers: (bytes, then) => void (watch = { bytes, then }),
  };
}

/**
 * Resets a connection. One that is already ending is closed instead: Node fails to reset it, and then waits
 * for it and never exits.
 */
function reset(socket: Socket): void {
  if (socket.readyState === "open") socket.resetAndDestroy();
  else socket.destroy();
}

/** Splits a stream into messages; without a protocol each chunk is one. */
function createSplitter(
  messages: Messages | undefined,
  take: (message: Buffer) => void,
): (chunk: Buffer) => void {
  if (messages === undefined) return take;
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const length = messages.readLength(rest);
      if (length === undefined || rest.length < length) return;
      take(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}
