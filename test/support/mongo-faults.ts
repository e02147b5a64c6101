import type { Document } from "mongodb";

import type { Dialect } from "./mongo-dialects.ts";
import * as wire from "./op-msg.ts";
import { databaseUri } from "./stack.ts";
import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/** What becomes of commands of one name. */
export interface MongoFault {
  /** `insert`, `commitTransaction`, … */
  readonly command: string;
  /** Only those of more bytes than this; 0 where nothing is said. */
  readonly largerThan?: number;
  /** Whether the store carries the command out, although its client is told `answer`. */
  readonly executed: boolean;
  /** What stands in the answer beside or instead of what the store says. */
  readonly answer: Document;
  /** How much later the store gets the command, in milliseconds. */
  readonly delayMs?: number;
  /** How many commands it befalls. */
  readonly times: number;
}

/** Errors as a MongoDB says them. */
export const mongoErrors = {
  /** Within a transaction, by a server that is not the primary any more. */
  notWritablePrimary: {
    ok: 0,
    code: 10107,
    codeName: "NotWritablePrimary",
    errmsg: "not primary",
    errorLabels: ["TransientTransactionError"],
  },
  /** To a commit or a write outside of transactions. */
  notWritablePrimaryAtCommit: {
    ok: 0,
    code: 10107,
    codeName: "NotWritablePrimary",
    errmsg: "not primary",
    errorLabels: ["RetryableWriteError"],
  },
  /** To a commit that too few members confirmed in time. */
  writeConcernTimeout: {
    writeConcernError: {
      code: 64,
      codeName: "WriteConcernTimeout",
      errmsg: "waiting for replication timed out",
      errInfo: { wtimeout: true },
    },
  },
  /** To a write that took longer than the server was told to let it. */
  tooSlow: { ok: 0, code: 50, codeName: "MaxTimeMSExpired", errmsg: "operation exceeded time limit" },
  /** To a commit, by a server that is being shut down. */
  shutdownInProgress: {
    ok: 0,
    code: 91,
    codeName: "ShutdownInProgress",
    errmsg: "the server is in quiesce mode and will shut down",
    errorLabels: ["RetryableWriteError"],
  },
} as const satisfies Record<string, Document>;

/** A proxy before a store that can also lie in the store's name. */
export interface MongoProxy extends TcpProxy {
  /** The connection string of a database behind the proxy. */
  uri(database: string): string;
  /** Whatever comes next of this command fares so. */
  fail(fault: MongoFault): void;
  /** Nothing of what was told so far comes any more. */
  clear(): void;
  /** How many commands of the faults told so far are still to come. */
  pending(): number;
}

export interface MongoProxyOptions {
  /** The product that the store passes for; MongoDB where nothing is said. */
  readonly dialect?: Dialect;
  /** Called with each command that is sent, the documents beside its body included. */
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
    return faults.find((one) => one.command === name && one.times > 0 && length > (one.largerThan ?? 0));
  }

  function createMessages(): Messages {
    /** What becomes of answers, by the id of the request. */
    const changes = new Map<number, (answer: Document) => Document>();

    /** Applies the dialect to a command, and gives what the store is sent; undefined when it is rejected. */
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
        if (!fault.executed) {
          reply(wire.createReply(id, fault.answer));
          return;
        }
        changes.set(id, (said) => ({ ...said, ...fault.answer }));
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
