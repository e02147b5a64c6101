/**
 * A world for registrations: users of several instances register and remove push tokens through the product's
 * group commit and storage, over a simulated store and network.
 */
import { RejectionError, OverloadedError, UnavailableError } from "@topicsync/lib/errors";
import { shareDeactivations } from "../../src/installations/deactivation.ts";
import { GroupCommit } from "../../src/installations/group-commit.ts";
import type { DeactivateAll } from "../../src/installations/stores.ts";
import { createInstallationDeactivator } from "../../src/storage/installations/deactivation.ts";
import { createInstallationStore } from "../../src/storage/installations/installations.ts";
import { collections } from "../../src/storage/names.ts";
import { RegistrationOracle, type Operation } from "./registration-oracle.ts";
import type { RegistrationAction, Step } from "./steps.ts";
import { World, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly groupCommit: GroupCommit;
  readonly deactivateAll: DeactivateAll;
}

/** Long enough for every request that is still on its way. */
const recoveryMs = 60_000;
/** Few enough that a user's removal takes several batches. */
const maxRemovedPerBatch = 2;
const scope = { application: "app", platform: "fcm" } as const;

/** Runs steps in a world that the seed determines. Throws a Violation. */
export const runRegistrationWorld = async (
  seed: number,
  steps: readonly Step<RegistrationAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> => new RegistrationWorld(seed, onTrace).run(steps);

class RegistrationWorld {
  readonly #world: World<Service>;
  readonly #oracle: RegistrationOracle;

  constructor(seed: number, onTrace: OnTrace | undefined) {
    this.#world = new World<Service>({
      seed,
      onTrace,
      start: (process) => this.#start(process),
      stop: () => Promise.resolve(),
      onGone: () => undefined,
    });
    const { clock, server } = this.#world;
    this.#oracle = new RegistrationOracle({ clock, getMajority: () => server.getMajority() });
    this.#observeStore();
  }

  async run(steps: readonly Step<RegistrationAction>[]): Promise<WorldResult> {
    const { clock, server, note } = this.#world;
    await this.#world.perform(steps, (action) => {
      this.#act(action);
    });
    this.#world.heal();
    await clock.runUntil(clock.getTime() + recoveryMs);
    const stored = server.readAll(collections.installations);
    this.#oracle.checkFinal(stored);
    note(JSON.stringify(stored.map(({ token, user, active }) => [token, user, active])));
    return this.#world.getResult(this.#oracle.countChecks());
  }

  #observeStore(): void {
    const { server, trace } = this.#world;
    server.observe({
      onCommit: (commit) => {
        trace(
          () =>
            `commit ${commit.number} of ${commit.client.name}: ${JSON.stringify(commit.changes.map(({ after }) => after))}`,
        );
        this.#oracle.onCommit(commit);
      },
      onRead: () => undefined,
      onRollback: (lastKept) => {
        trace(() => `every commit after ${lastKept} is lost`);
        this.#oracle.onRollback(lastKept);
      },
    });
  }

  async #start(process: Process<Service>): Promise<void> {
    const database = this.#world.openDatabase(process.host);
    await database.connect(new AbortController().signal);
    process.service = {
      groupCommit: new GroupCommit(createInstallationStore(database, maxRemovedPerBatch)),
      deactivateAll: shareDeactivations(createInstallationDeactivator(database).deactivateAll),
    };
  }

  #act(action: RegistrationAction): void {
    switch (action.do) {
      case "register":
        this.#submit(action.process, {
          kind: "register",
          user: `user ${action.user}`,
          token: `token ${action.token}`,
          previousToken: action.previousToken === undefined ? undefined : `token ${action.previousToken}`,
        });
        break;
      case "remove":
        this.#submit(action.process, { kind: "remove", user: `user ${action.user}` });
        break;
      case "remove all":
        this.#submit(action.process, { kind: "remove all" });
        break;
      default:
        this.#world.injectFault(action);
    }
  }

  #submit(processIndex: number, operation: Operation): void {
    const { clock, trace, note, runCheck } = this.#world;
    const { service, host } = this.#world.getProcess(processIndex);
    if (service === undefined) return;
    clock.schedule(host, 0, () => {
      const { end, fail } = this.#oracle.begin(operation, host);
      send(service, operation).then(
        () => {
          note(JSON.stringify(operation));
          trace(() => `acknowledges ${JSON.stringify(operation)}`);
          runCheck(end);
        },
        (error: unknown) => {
          trace(() => `fails: ${JSON.stringify(operation)}`);
          fail();
          if (!isExpected(error)) clock.fail(error);
        },
      );
    });
  }
}

function send({ groupCommit, deactivateAll }: Service, operation: Operation): Promise<void> {
  switch (operation.kind) {
    case "register":
      return groupCommit.submit({
        kind: "register",
        key: { ...scope, token: operation.token },
        user: operation.user,
        previousToken: operation.previousToken,
      });
    case "remove":
      return groupCommit.submit({
        kind: "remove",
        ...scope,
        user: operation.user,
        reason: "removed by its user",
      });
    case "remove all":
      return deactivateAll({ ...scope, reason: "removed by the administrator" });
  }
}

const isExpected = (error: unknown): boolean =>
  error instanceof RejectionError || error instanceof UnavailableError || error instanceof OverloadedError;
