/** The steps of a run, as data: what users and producers do, and what goes wrong. */
import fc from "fast-check";

import type { LinkFault } from "../simulated-servers/index.ts";

/** What goes wrong with processes, the network and the store. */
export type Fault =
  | {
      readonly do: "kill" | "stop";
      readonly process: number;
      readonly restartMs: number;
      /** When the group notices. */
      readonly noticedMs: number;
    }
  | { readonly do: "freeze"; readonly process: number; readonly ms: number }
  | { readonly do: "disturb"; readonly process: number; readonly server: Server; readonly fault: LinkFault }
  | { readonly do: "cut"; readonly process: number; readonly server: Server; readonly ms: number }
  | { readonly do: "elect"; readonly downMs: number; readonly losesUnreplicated: boolean }
  | { readonly do: "stall replication"; readonly ms: number };

export type RegistrationAction =
  | Fault
  | {
      readonly do: "register";
      readonly process: number;
      readonly user: number;
      readonly token: number;
      readonly previousToken: number | undefined;
    }
  | { readonly do: "remove" | "remove all"; readonly process: number; readonly user: number };

export type Server = "store" | "broker";

/** An action, some time after the one before. */
export interface Step<A> {
  readonly afterMs: number;
  readonly action: A;
}

/** The actions that are not faults. */
const ordinary = new Set<string>([
  "produce",
  "create",
  "disable",
  "enable",
  "apply",
  "end transaction",
  "register",
  "remove",
  "remove all",
  "produce events",
  "change topic",
  "rename topic",
]);

export const isFault = ({ action }: Step<{ readonly do: string }>): boolean => !ordinary.has(action.do);

export const below = (count: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: count - 1 });
export const upTo = (...limits: readonly number[]): fc.Arbitrary<number> =>
  fc.oneof(...limits.map((max) => fc.integer({ min: 0, max })));
export const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ arbitrary, weight });

export const process = below(2);
export const partition = below(2);

/** What goes wrong with processes and the network. */
export const createProcessFaults = (server: fc.Arbitrary<Server>) => [
  weighted(
    4,
    fc.record({
      do: fc.constantFrom("kill", "kill", "stop"),
      process,
      restartMs: upTo(50, 2_000),
      noticedMs: upTo(50, 5_000),
    }),
  ),
  weighted(3, fc.record({ do: fc.constant("freeze"), process, ms: upTo(500, 20_000) })),
  weighted(
    40,
    fc.record({
      do: fc.constant("disturb"),
      process,
      server,
      fault: fc.constantFrom<LinkFault>("request", "response", "response", "late", "slow"),
    }),
  ),
  weighted(3, fc.record({ do: fc.constant("cut"), process, server, ms: upTo(8_000) })),
];

export const createFaults = (server: fc.Arbitrary<Server>) => [
  ...createProcessFaults(server),
  weighted(5, fc.record({ do: fc.constant("elect"), downMs: upTo(4_000), losesUnreplicated: fc.boolean() })),
  weighted(2, fc.record({ do: fc.constant("stall replication"), ms: upTo(3_000) })),
];

/** An election that loses what only the primary has. */
export const lossyElections = [
  weighted(
    10,
    fc.record({ do: fc.constant("elect"), downMs: upTo(50), losesUnreplicated: fc.constant(true) }),
  ),
  weighted(5, fc.record({ do: fc.constant("stall replication"), ms: upTo(500) })),
];

const createRequests = (user: fc.Arbitrary<number>, token: fc.Arbitrary<number>) => [
  weighted(
    80,
    fc.record({
      do: fc.constant("register"),
      process,
      user,
      token,
      previousToken: fc.option(token, { nil: undefined, freq: 3 }),
    }),
  ),
  weighted(40, fc.record({ do: fc.constantFrom("remove", "remove", "remove", "remove all"), process, user })),
];

const storeFaults = createFaults(fc.constant("store"));
const registrationAction: fc.Arbitrary<RegistrationAction> = fc.oneof(
  ...storeFaults,
  ...createRequests(below(3), below(5)),
);
/** Few tokens, so that requests for the same one meet. */
const crowdedAction: fc.Arbitrary<RegistrationAction> = fc.oneof(
  ...storeFaults,
  ...lossyElections,
  ...createRequests(below(2), below(2)),
);

/** Mostly short pauses, so that faults meet each other. */
const shortPauses = fc.oneof(weighted(6, upTo(12)), weighted(3, upTo(300)), weighted(1, upTo(3_000)));

export const createSteps = <A>(
  action: fc.Arbitrary<A>,
  length: number,
  afterMs: fc.Arbitrary<number> = shortPauses,
): fc.Arbitrary<Step<A>[]> =>
  fc.array(fc.record({ afterMs, action }), { minLength: 1, maxLength: length, size: "max" });

/** Short runs show in the end what later requests would hide. */
export const registrationSteps = (length: number): fc.Arbitrary<Step<RegistrationAction>[]> =>
  fc.oneof(
    createSteps(registrationAction, length),
    createSteps(crowdedAction, length),
    createSteps(crowdedAction, Math.ceil(length / 10)),
  );
