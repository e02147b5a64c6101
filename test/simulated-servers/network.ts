import type { Clock, Host } from "./clock.ts";
import type { Random } from "./random.ts";

/** The connection was lost: whether the request was executed is unknown. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

/**
 * What happens to the next request of a host:
 * - `request`: it is lost with its connection;
 * - `response`: it is executed, but the response is lost;
 * - `late`: the connection is lost, and the request is executed some time later;
 * - `slow`: the response takes long.
 */
export type LinkFault = "request" | "response" | "late" | "slow";

interface Link {
  readonly faults: LinkFault[];
  cutUntil: number;
}

/** As the driver and kafkajs are configured. */
const requestTimeoutMs = 15_000;

/** What happens to requests between machines, apart from those to Kafka brokers. */
export class Network {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #links = new Map<Host, Map<Host, Link>>();
  #disturbed = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Executes a request on a server for the current host. Throws ConnectionLostError. */
  call<T>(server: Host, execute: () => T | Promise<T>): Promise<T> {
    const from = this.#clock.getHost();
    const link = this.#getLink(from, server);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const getDelay = (): number => 0.2 + this.#random.next() * 1.5;
    const isCut = (): boolean => this.#clock.getTime() < link.cutUntil;
    const lose = (delayMs: number): void => {
      this.#disturbed += 1;
      this.#clock.schedule(from, delayMs, () => {
        reject(new ConnectionLostError("connection lost"));
      });
    };
    const fault = isCut() ? "request" : link.faults.shift();
    if (fault === "slow") this.#disturbed += 1;
    const run = async (respond: boolean): Promise<void> => {
      const slowMs = fault === "slow" ? this.#random.between(200, 4_000) : 0;
      let outcome: () => void;
      try {
        const result = await execute();
        outcome = () => {
          resolve(result);
        };
      } catch (error) {
        outcome = () => {
          reject(error);
        };
      }
      if (!respond) return;
      if (isCut()) lose(getDelay());
      else this.#clock.schedule(from, getDelay() + slowMs, outcome);
    };
    const start = (respond: boolean): void => void run(respond).catch(this.#clock.fail);
    switch (fault) {
      case "request":
        lose(this.#random.chance(0.2) ? this.#random.between(100, requestTimeoutMs) : getDelay());
        break;
      case "late":
        lose(getDelay());
        this.#clock.schedule(server, this.#random.between(5, 3_000), () => {
          start(false);
        });
        break;
      case "response":
        lose(getDelay() * 3 + (this.#random.chance(0.2) ? this.#random.between(100, requestTimeoutMs) : 0));
        this.#clock.schedule(server, getDelay(), () => {
          start(false);
        });
        break;
      case "slow":
      case undefined:
        this.#clock.schedule(server, getDelay(), () => {
          start(true);
        });
    }
    // A request that the server does not answer in time.
    const cancelTimeout = this.#clock.schedule(from, requestTimeoutMs, () => {
      reject(new ConnectionLostError("no response in time"));
    });
    return promise.finally(cancelTimeout);
  }

  /** Disturbs the next request from a host to a server. */
  disturb(from: Host, server: Host, fault: LinkFault): void {
    this.#getLink(from, server).faults.push(fault);
  }

  /** Cuts a host off from a server. */
  cut(from: Host, server: Host, ms: number): void {
    this.#getLink(from, server).cutUntil = this.#clock.getTime() + ms;
  }

  /** Ends everything that was done with `disturb` and `cut`. */
  heal(): void {
    for (const ofHost of this.#links.values())
      for (const link of ofHost.values()) {
        link.faults.length = 0;
        link.cutUntil = 0;
      }
  }

  /** How many requests were disturbed, or failed while a host was cut off. */
  countDisturbed(): number {
    return this.#disturbed;
  }

  #getLink(from: Host, server: Host): Link {
    const ofHost = this.#links.get(from) ?? new Map<Host, Link>();
    this.#links.set(from, ofHost);
    const link = ofHost.get(server) ?? { faults: [], cutUntil: 0 };
    ofHost.set(server, link);
    return link;
  }
}
