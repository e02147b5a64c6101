/**
 * A world for registrations: users of several instances register and remove push tokens through the product's
 * group commit and storage, over a simulated store and network.
 */
import { RejectionError, OverloadedError, UnavailableError } from "../../src/lib/errors.ts";
import { shareDeactivations } from "../../src/installations/deactivation.ts";
import { GroupCommit } from "../../src/installations/group-commit.ts";
import type { DeactivateAll } from "../../src/installations/stores.ts";
import { createInstallationDeactivator } from "../../src/storage/installation-deactivation.ts";
import { createInstallationStore } from "../../src/storage/installations.ts";
import { collections } from "../../src/storage/names.ts";
import { createRegistrationOracle, type Operation } from "./registration-oracle.ts";
import type { RegistrationAction, Step } from "./steps.ts";
import { createWorld, type OnTrace, type Process, type WorldResult } from "./world.ts";

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
export async function runRegistrationWorld(
  seed: number,
  steps: readonly Step<RegistrationAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> {
  const world = createWorld<Service>({
    seed,
    onTrace,
    start,
    stop: () => Promise.resolve(),
    onGone: () => undefined,
  });
  const { clock, server, openDatabase, trace, note, runCheck } = world;
  const oracle = createRegistrationOracle({ clock, getMajority: () => server.getMajority() });

  server.observe({
    onCommit(commit) {
      trace(
        () =>
          `commit ${commit.number} of ${commit.client.name}: ${JSON.stringify(commit.changes.map(({ after }) => after))}`,
      );
      oracle.onCommit(commit);
    },
    onRead: () => undefined,
    onRollback(lastKept) {
      trace(() => `every commit after ${lastKept} is lost`);
      oracle.onRollback(lastKept);
    },
  });

  async function start(process: Process<Service>): Promise<void> {
    const { host } = process;
    const database = openDatabase(host);
    await database.connect(new AbortController().signal);
    process.service = {
      groupCommit: new GroupCommit(createInstallationStore(database, maxRemovedPerBatch)),
      deactivateAll: shareDeactivations(createInstallationDeactivator(database).deactivateAll),
    };
  }

  function submit(processIndex: number, operation: Operation): void {
    const { service, host } = world.getProcess(processIndex);
    if (service === undefined) return;
    clock.schedule(host, 0, () => {
      const { end, fail } = oracle.begin(operation, host);
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

  await world.perform(steps, (action) => {
    switch (action.do) {
      case "register":
        submit(action.process, {
          kind: "register",
          user: `user ${action.user}`,
          token: `token ${action.token}`,
          previousToken: action.previousToken === undefined ? undefined : `token ${action.previousToken}`,
        });
        break;
      case "remove":
        submit(action.process, { kind: "remove", user: `user ${action.user}` });
        break;
      case "remove all":
        submit(action.process, { kind: "remove all" });
        break;
      default:
        world.injectFault(action);
    }
  });
  world.heal();
  await clock.runUntil(clock.getTime() + recoveryMs);
  const stored = server.readAll(collections.installations);
  oracle.checkFinal(stored);
  note(JSON.stringify(stored.map(({ token, user, active }) => [token, user, active])));
  return world.getResult(oracle.countChecks());
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
