import { loadPrivate } from "../../../src/kafka/workarounds/patch.ts";

const { errorCodes, createErrorFromCode } = loadPrivate("protocol/error") as {
  readonly errorCodes: readonly { readonly type: string; readonly code: number }[];
  readonly createErrorFromCode: (code: number) => Error;
};

/** The error that kafkajs makes of an error code of Kafka, by its name in kafkajs. */
export function createProtocolError(type: string): Error {
  const known = errorCodes.find((error) => error.type === type);
  if (known === undefined) throw new Error(`kafkajs does not know ${type}`);
  return createErrorFromCode(known.code);
}
