import { getPort } from "./local.ts";
import { startMongoProxy } from "./mongo-faults.ts";
import { until } from "./poll.ts";
import type { Scene } from "./scene.ts";
import { startTopicsync, type ServiceProcess } from "./service.ts";

/** The n-th of these commands that a service sends, counted from its start. */
export interface Moment {
  readonly command: "insert" | "update" | "commitTransaction";
  /** Only commands on this collection count. */
  readonly collection?: string;
  readonly nth: number;
}

/** Starts a service that connects to a store through a proxy, and kills it when it sends this command. */
export async function killAt(
  { command, collection, nth }: Moment,
  { settings, db }: Pick<Scene, "settings" | "db">,
  store: string,
): Promise<void> {
  const started: ServiceProcess[] = [];
  let left = nth;
  const proxy = await startMongoProxy(getPort(store), {
    onCommand(sent) {
      if (!(command in sent) || (collection !== undefined && sent[command] !== collection)) return;
      left -= 1;
      if (left <= 0) for (const { process } of started) process.kill("SIGKILL");
    },
  });
  const service = await startTopicsync({ ...settings, MONGODB_URI: proxy.uri(db.databaseName) });
  started.push(service);
  await until("the service is killed", () => service.process.signalCode === "SIGKILL");
}
