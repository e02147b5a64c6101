/**
 * The requests and responses of a simulated broker: of each kind the version that kafkajs 2.2.4 chooses
 * against a current broker, and those that the product sends. Names and order of fields are those of Kafka's
 * message definitions.
 */
import { coordinationMessages } from "./coordination-messages.ts";
import type { Type, Value } from "./format.ts";
import { topicMessages } from "./topic-messages.ts";

export const messages = {
  ...topicMessages,
  ...coordinationMessages,
} as const satisfies Readonly<Record<string, Message>>;

interface Message {
  readonly key: number;
  readonly version: number;
  /** Headers of flexible versions end with their tagged fields. */
  readonly isFlexible: boolean;
  readonly request: Pick<Type<unknown>, "read">;
  readonly response: { readonly write: (writer: never, value: never) => void };
}

export type MessageName = keyof typeof messages;
export type Request<Name extends MessageName> = Value<(typeof messages)[Name]["request"]>;
export type Response<Name extends MessageName> = Value<(typeof messages)[Name]["response"]>;
