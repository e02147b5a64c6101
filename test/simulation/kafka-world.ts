import { createBroker, type Broker } from "@topicsync/kafka/client";
import { Cluster, SocketNetwork, startOfTime, type ClusterOptions } from "../simulated-servers/index.ts";
import type { ClusterAction } from "./cluster-steps.ts";
import type { Fault } from "./steps.ts";
import type { World, WorldResult } from "./world.ts";

type Observers = Pick<ClusterOptions, "onDelivered" | "onDecided" | "onProduced" | "onCreated">;
type Limits = Pick<
  ClusterOptions,
  "brokers" | "maxBatchesPerFetch" | "maxFetchVersion" | "describesTransactions"
>;

export interface KafkaWorldOptions<Service> extends Observers {
  readonly world: World<Service>;
  readonly groupId: string;
  /** Called once the network is there. */
  readonly chooseLimits: () => Limits;
}

/** The first version of Fetch that names logs by topic id. */
const fetchById = 13;

/** A world with Kafka brokers. */
export class KafkaWorld<Service> {
  readonly #world: World<Service>;
  readonly #groupId: string;
  readonly sockets: SocketNetwork;
  readonly cluster: Cluster;
  readonly hasTopicIds: boolean;

  constructor({ world, groupId, chooseLimits, ...observers }: KafkaWorldOptions<Service>) {
    const { clock, random, trace } = world;
    this.#world = world;
    this.#groupId = groupId;
    this.sockets = new SocketNetwork({ clock, random });
    const limits = chooseLimits();
    this.hasTopicIds = limits.maxFetchVersion >= fetchById;
    this.cluster = new Cluster({
      ...{ clock, random, trace, network: this.sockets },
      ...limits,
      ...observers,
      now: () => startOfTime + Math.floor(clock.getTime()),
    });
  }

  /** Creates the product's client for a process. */
  createBroker(settings: Omit<Parameters<typeof createBroker>[0], "brokers">): Broker {
    const brokers = this.cluster.addresses;
    return createBroker({ ...settings, brokers }, this.#world.log, this.sockets.createSockets());
  }

  act(action: ClusterAction | Fault): void {
    const { cluster, sockets } = this;
    const getHost = (process: number) => this.#world.getProcess(process).host;
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
      case "lose markers":
        cluster.loseMarkers(action.ms);
        break;
      case "rebalance":
        cluster.groups.get(this.#groupId).rebalance();
        break;
      default:
        this.#world.injectFault(action);
    }
  }

  /** Ends all faults of processes, network and store, and that Kafka creates no topics. */
  heal(): void {
    this.#world.heal();
    this.sockets.heal();
    this.cluster.refuseTopics(0);
    this.cluster.loseMarkers(0);
  }

  getResult(checks: number): WorldResult {
    const result = this.#world.getResult(checks);
    return { ...result, faults: result.faults + this.sockets.countDisturbed() };
  }
}
