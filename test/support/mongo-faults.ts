import type { Document } from "mongodb";

import type { Dialect } from "./mongo-dialects.ts";
import * as wire from "./op-msg.ts";
import { databaseUri } from "./stack.ts";
import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/** A fault that commands of one name meet. */
export interface MongoFault {
  /** `insert`, `commitTransaction`, … */
  readonly command: string;
  /** Only commands to this collection; to any by default. */
  readonly collection?: string;
  /** Only commands of more bytes than this; 0 by default. */
  readonly largerThan?: number;
  /** Whether the store executes the command, although its client gets `answer`. */
  readonly executed: boolean;
  /** The response, without MongoDB's labels; merged into the store's if the command is executed. */
  readonly answer: Document;
  /** The delay before the store gets the command. */
  readonly delayMs?: number;
  /** The number of commands that meet it. */
  readonly times: number;
}

/**
 * Errors in MongoDB's own form. After one of a server that steps down or stops, the driver waits for the
 * server's next hello. MongoDB sends it at once with the new state; the store behind the proxy, whose state
 * does not change, sends it within ten seconds. So such errors are for tests of what repeats.
 */
export const mongoErrors = {
  /** From a server that is no longer the primary. */
  notWritablePrimary: { ok: 0, code: 10107, codeName: "NotWritablePrimary", errmsg: "not primary" },
  /** To a commit that too few members acknowledged in time. */
  writeConcernTimeout: {
    writeConcernError: {
      code: 64,
      codeName: "WriteConcernTimeout",
      errmsg: "waiting for replication timed out",
      errInfo: { wtimeout: true },
    },
  },
  /** To a write that exceeded its `maxTimeMS`. */
  tooSlow: { ok: 0, code: 50, codeName: "MaxTimeMSExpired", errmsg: "operation exceeded time limit" },
  /** Unlike a change of the primary it leaves the driver's connections open. */
  hostUnreachable: { ok: 0, code: 6, codeName: "HostUnreachable", errmsg: "no route to host" },
  /** From a store that has too much to do; the driver repeats the command itself, a few times. */
  overloaded: {
    ok: 0,
    code: 462,
    codeName: "IngressRequestRateLimitExceeded",
    errmsg: "the server is overloaded",
    errorLabels: ["SystemOverloadedError"],
  },
  /** To a commit that another primary may have stored: without a label. */
  noSuchTransaction: {
    ok: 0,
    code: 251,
    codeName: "NoSuchTransaction",
    errmsg: "Transaction does not match any in-progress transactions.",
  },
  /** To a commit, from a server that is shutting down. */
  shutdownInProgress: {
    ok: 0,
    code: 91,
    codeName: "ShutdownInProgress",
    errmsg: "the server is in quiesce mode and will shut down",
  },
} as const satisfies Record<string, Document>;

const labelledCodes: ReadonlySet<unknown> = new Set([
  6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
]);

/**
 * Adds MongoDB's label to an error (`error_labels.cpp`): only commands with a transaction number have one,
 * and only statements of transactions the one that is named after them.
 */
function withLabel(answer: Document, command: Document): Document {
  const code: unknown = answer["code"] ?? answer["writeConcernError"]?.code;
  if (!labelledCodes.has(code) || !("txnNumber" in command)) return answer;
  const isStatement =
    command["autocommit"] === false && !("commitTransaction" in command || "abortTransaction" in command);
  return { ...answer, errorLabels: [isStatement ? "TransientTransactionError" : "RetryableWriteError"] };
}

/** A proxy before a store that can also respond in the store's place. */
export interface MongoProxy extends TcpProxy {
  /** The connection string of a database behind the proxy. */
  uri(database: string): string;
  /** Makes the next commands of this name meet a fault. */
  fail(fault: MongoFault): void;
  /** Removes the faults that are still pending. */
  clear(): void;
  /** The number of commands that are still to meet a fault. */
  pending(): number;
}

export interface MongoProxyOptions {
  /** The product that the store imitates; MongoDB by default. */
  readonly dialect?: Dialect;
  /** Called with each command, including the documents of its sequences. */
  readonly onCommand?: (command: Document) => void;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Starts a proxy before a store on this machine. */
export async function startMongoProxy(
  port: number,
  { dialect, onCommand }: MongoProxyOptions = {},
): Promise<MongoProxy> {
  const faults: Mutable<MongoFault>[] = [];
  const { rules = [], hello, uriOptions = "directConnection=true" } = dialect ?? {};

  function findFault(command: Document, length: number): Mutable<MongoFault> | undefined {
    const [name] = Object.keys(command);
    return faults.find(
      ({ command: faulty, collection = command[faulty], largerThan = 0, times }) =>
        faulty === name && command[faulty] === collection && times > 0 && length > largerThan,
    );
  }

  function createMessages(): Messages {
    /** Changes to responses, by the id of the request. */
    const changes = new Map<number, (answer: Document) => Document>();

    /** Applies the dialect to a command. Returns what the store is sent, or undefined if it is rejected. */
    function translate(
      message: Buffer,
      command: Document,
      reply: (answer: Buffer) => void,
    ): Buffer | undefined {
      const id = wire.readRequestId(message);
      let sent = message;
      for (const rule of rules.filter(({ on }) => on(command))) {
        if (rule.reject !== undefined) {
          reply(wire.createReply(id, { ok: 0, ...rule.reject }));
          return undefined;
        }
        if (rule.send !== undefined) sent = wire.withBody(sent, rule.send(command));
        const { answer } = rule;
        if (answer === undefined) continue;
        const before = changes.get(id);
        changes.set(id, (said) => answer(before?.(said) ?? said, command));
      }
      if (hello !== undefined && ("hello" in command || "ismaster" in command)) changes.set(id, hello);
      return sent;
    }

    return {
      readLength: wire.readLength,
      request(message, pass, reply) {
        const command = wire.readBody(message);
        if (command === undefined) {
          pass(message);
          return;
        }
        onCommand?.(wire.readCommand(message) ?? command);
        const id = wire.readRequestId(message);
        const fault = findFault(command, message.length);
        if (fault === undefined) {
          const sent = translate(message, command, reply);
          if (sent !== undefined) pass(sent);
          return;
        }
        fault.times -= 1;
        const labelled = withLabel(fault.answer, command);
        if (!fault.executed) {
          reply(wire.createReply(id, labelled));
          return;
        }
        changes.set(id, (said) => ({ ...said, ...labelled }));
        setTimeout(pass, fault.delayMs ?? 0, message).unref();
      },
      answer(message) {
        if (wire.isHandshakeReply(message))
          return hello === undefined ? message : wire.withHandshake(message, hello);
        const id = wire.readResponseTo(message);
        const change = changes.get(id);
        if (change === undefined) return message;
        changes.delete(id);
        return wire.createReply(id, change(wire.readBody(message) ?? {}));
      },
    };
  }

  const proxy = await startTcpProxy(port, createMessages);
  return {
    ...proxy,
    uri: (database) => databaseUri(`mongodb://127.0.0.1:${proxy.port}/?${uriOptions}`, database),
    fail: (fault) => void faults.push({ ...fault }),
    clear: () => void faults.splice(0),
    pending: () => faults.reduce((sum, { times }) => sum + times, 0),
  };
}
