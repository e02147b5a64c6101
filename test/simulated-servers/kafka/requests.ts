/** How a broker's parts answer requests. */
import type { Host } from "../clock.ts";
import type { MessageName, Request, Response } from "../wire/messages.ts";

export interface RequestContext {
  /** The broker that was asked. */
  readonly brokerId: number;
  /** The process that asks. */
  readonly client: Host;
  readonly clientId: string;
}

export type Handler<Name extends MessageName> = (
  body: Request<Name>,
  respond: (body: Response<Name>) => void,
  context: RequestContext,
) => void;

export type Handlers<Name extends MessageName = MessageName> = { readonly [One in Name]: Handler<One> };

interface TopicOf<P> {
  readonly topic: string;
  readonly partitions: readonly P[];
}

/** Maps the partitions of a request to those of its response. */
export const mapPartitions = <P, R>(
  topics: readonly TopicOf<P>[],
  map: (topic: string, partition: P) => R,
): TopicOf<R>[] =>
  topics.map(({ topic, partitions }) => ({ topic, partitions: partitions.map((one) => map(topic, one)) }));

export const toKey = (topic: string, partition: number): string => `${topic}-${partition}`;
