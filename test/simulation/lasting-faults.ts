/** Faults that last while everything else has to catch up. */
import type { Cluster, Random } from "../simulated-servers/index.ts";

/**
 * Once faults stop, processes must have caught up within this time: the lifetime of a transaction, and some
 * retries.
 */
export const recoveryMs = 180_000;

export const lastingFaults = [
  "nothing",
  "nothing",
  "denied topic",
  "topic without a leader",
  "broker down",
] as const;
export type LastingFault = (typeof lastingFaults)[number];

/**
 * None of them must keep a process from the end of its log. `others`: a topic that the product has nothing to
 * do with.
 */
export function injectLastingFault(
  fault: LastingFault,
  {
    cluster,
    others,
    random,
  }: { readonly cluster: Cluster; readonly others: string; readonly random: Random },
): void {
  const [partition] = cluster.topics.get(others)?.partitions ?? [];
  if (fault === "denied topic") cluster.denied.add(others);
  if (fault === "topic without a leader" && partition !== undefined)
    cluster.registry.moveLeader(partition, -1);
  if (fault === "broker down") cluster.crash(random.between(0, 2), { ms: 2 * recoveryMs, failOverMs: 100 });
}
