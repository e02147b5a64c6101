import { BSON, type Document } from "mongodb";

import { startTcpProxy, type Messages, type TcpProxy } from "./tcp-proxy.ts";

/** What becomes of commands of one name. */
export interface MongoFault {
  /** `insert`, `commitTransaction`, … */
  readonly command: string;
  /** Only those of more bytes than this; 0 where nothing is said. */
  readonly largerThan?: number;
  /** Whether the store carries the command out, although its client is told `answer`. */
  readonly carriedOut: boolean;
  /** What stands in the answer beside or instead of what the store says. */
  readonly answer: Document;
  /** How much later the store gets the command, in milliseconds. */
  readonly lateMs?: number;
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
  /** Whatever comes next of this command fares so. */
  fail(fault: MongoFault): void;
  /** Nothing of what was told so far comes any more. */
  forgive(): void;
  /** How many commands of the faults told so far are still to come. */
  pending(): number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const headBytes = 16;
const opMsg = 2013;

/** Starts a proxy before a store on this machine. */
export async function startMongoProxy(port: number): Promise<MongoProxy> {
  const faults: Mutable<MongoFault>[] = [];
  /** What is to stand in answers, by the id of the request. */
  const altered = new Map<number, Document>();

  function faultOf(message: Buffer): Mutable<MongoFault> | undefined {
    if (message.readInt32LE(12) !== opMsg) return undefined;
    const command = Object.keys(bodyOf(message))[0];
    return faults.find(
      ({ command: name, times, largerThan = 0 }) =>
        name === command && times > 0 && message.length > largerThan,
    );
  }

  const messages: Messages = {
    lengthOf: (head) => (head.length < 4 ? undefined : head.readInt32LE(0)),
    request(message, pass, reply) {
      const fault = faultOf(message);
      if (fault === undefined) {
        pass(message);
        return;
      }
      fault.times -= 1;
      const id = message.readInt32LE(4);
      if (!fault.carriedOut) {
        reply(answerTo(id, fault.answer));
        return;
      }
      altered.set(id, fault.answer);
      setTimeout(pass, fault.lateMs ?? 0, message).unref();
    },
    answer(message) {
      const id = message.readInt32LE(8);
      const change = altered.get(id);
      if (change === undefined) return message;
      altered.delete(id);
      return answerTo(id, { ...bodyOf(message), ...change });
    },
  };

  const proxy = await startTcpProxy(port, messages);
  return {
    ...proxy,
    fail: (fault) => void faults.push({ ...fault }),
    forgive: () => void faults.splice(0),
    pending: () => faults.reduce((sum, { times }) => sum + times, 0),
  };
}

/** The body of an OP_MSG; documents that are sent beside it are left out. */
function bodyOf(message: Buffer): Document {
  for (let at = headBytes + 4; at < message.length;) {
    const kind = message.readUInt8(at);
    const length = message.readInt32LE(at + 1);
    if (kind === 0) return BSON.deserialize(message.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {};
}

function answerTo(requestId: number, body: Document): Buffer {
  const document = BSON.serialize(body);
  const head = Buffer.alloc(headBytes + 5);
  head.writeInt32LE(head.length + document.length, 0);
  head.writeInt32LE(requestId, 8);
  head.writeInt32LE(opMsg, 12);
  return Buffer.concat([head, document]);
}
