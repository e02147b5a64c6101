import type { Cluster } from "./cluster/cluster.ts";
import type { ClusterAction } from "./cluster-steps.ts";
import type { SocketNetwork } from "./sockets.ts";
import type { Fault } from "./steps.ts";
import type { World } from "./world.ts";

export interface ClusterWorld {
  readonly world: Pick<World<unknown>, "getProcess" | "injectFault">;
  readonly cluster: Cluster;
  readonly sockets: SocketNetwork;
  readonly groupId: string;
}

/** Does what a step says that worlds with brokers have in common. */
export function actOnCluster(
  action: ClusterAction | Fault,
  { world, cluster, sockets, groupId }: ClusterWorld,
): void {
  const getHost = (process: number) => world.getProcess(process).host;
  switch (action.do) {
    case "disturb broker":
      sockets.disturb(getHost(action.process), cluster.getServer(action.broker), action.fault);
      break;
    case "disturb request":
      for (const [broker, fault] of action.faults.entries())
        sockets.disturb(getHost(action.process), cluster.getServer(broker), fault, action.request);
      break;
    case "cut broker":
      sockets.cut(getHost(action.process), cluster.getServer(action.broker), action.ms);
      break;
    case "broker down":
      cluster.crash(action.broker, action);
      break;
    case "broker lags":
      cluster.lag(action.broker, action.ms);
      break;
    case "coordinator unavailable":
      cluster.hideCoordinator(action.kind, action.ms);
      break;
    case "move coordinator":
      cluster.moveCoordinator(action.kind, action.to);
      break;
    case "delay markers":
      cluster.delayMarkers(action.ms);
      break;
    case "rebalance":
      cluster.groups.get(groupId).rebalance();
      break;
    default:
      world.injectFault(action);
  }
}
