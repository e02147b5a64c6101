import type { Host } from "./clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { ClusterAction } from "./cluster-steps.ts";
import type { SocketNetwork } from "./sockets.ts";

export interface ClusterWorld {
  readonly cluster: Cluster;
  readonly sockets: SocketNetwork;
  readonly groupId: string;
  readonly getHost: (process: number) => Host;
}

/** Does to the brokers what a step says. */
export function actOnCluster(
  action: ClusterAction,
  { cluster, sockets, groupId, getHost }: ClusterWorld,
): void {
  switch (action.do) {
    case "disturb broker":
      sockets.disturb(getHost(action.process), cluster.getServer(action.broker), action.fault);
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
  }
}
