import { join } from "node:path";

import { service, type Contestant } from "../support/contestant.ts";

/** What a contestant forwards, and where to. */
export interface Job {
  /** The Kafka topic of the events. */
  readonly events: string;
  readonly egress: string;
  /** Its committed offsets say how far the contestant is. */
  readonly groupId: string;
  /** How many topics there are. */
  readonly topics: number;
  /** Of each of the two Kafka topics. */
  readonly partitions: number;
}

/** Forwards events without reading them; see floor.ts. */
export const createFloor = ({ events, egress, groupId }: Job): Contestant => ({
  name: "floor",
  command: ({ brokers, folder }) => ({
    command: process.execPath,
    args: [join(import.meta.dirname, "floor.ts"), brokers, groupId, events, egress],
    logFile: join(folder, `${groupId}.log`),
  }),
});

/** An instance of the service with its router. */
export const createRouter = (
  { events, egress, groupId }: Job,
  { base = service, instance = 1 }: { readonly base?: Contestant; readonly instance?: number } = {},
): Contestant => ({
  name: "router",
  async command(workspace) {
    const command = await base.command(workspace);
    return {
      ...command,
      env: {
        ...command.env,
        KAFKA_EVENTS_TOPIC: events,
        KAFKA_EVENTS_GROUP_ID: groupId,
        KAFKA_EGRESS_TOPIC: egress,
      },
      logFile: join(workspace.folder, `${groupId}.${instance}.log`),
    };
  },
});
