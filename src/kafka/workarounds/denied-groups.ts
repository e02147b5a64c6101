import { findDenial } from "../errors.ts";
import { patchMethod } from "./patch.ts";

interface Broker {
  findGroupCoordinator(request: { readonly groupId: string }): Promise<object>;
}

/** The last denial of each group whose coordinator could not be found. */
const denials = new Map<string, unknown>();

/**
 * Keeps the broker's response to a user who may not use a group. kafkajs 2.2.4 drops it while looking for the group's
 * coordinator and reports that there is none, as in an outage. See docs/decisions/003-kafkajs-behind-an-interface.md.
 */
export function keepGroupDenials(): void {
  patchMethod<"findGroupCoordinator", Broker>(
    "broker/index.js",
    "findGroupCoordinator",
    (find) =>
      async function (this: Broker, request) {
        try {
          const coordinator = await find.call(this, request);
          // Another broker denied it, or this one did before the right was granted.
          denials.delete(request.groupId);
          return coordinator;
        } catch (error) {
          if (findDenial(error) !== undefined) denials.set(request.groupId, error);
          throw error;
        }
      },
  );
}

/** Returns the denial behind an error of this group's client, once; the error itself when there was none. */
export function restoreDenial(groupId: string, error: Error): unknown {
  const denial = denials.get(groupId);
  denials.delete(groupId);
  return denial ?? error;
}
