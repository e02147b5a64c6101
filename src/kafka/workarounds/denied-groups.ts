import { createRequire } from "node:module";

import { findDenial } from "../errors.ts";

interface Broker {
  findGroupCoordinator(request: { readonly groupId: string }): Promise<object>;
}

/** What brokers answered last when they were asked for the coordinator of these groups. */
const denials = new Map<string, unknown>();
let isPatched = false;

/**
 * Keeps what brokers answer to a user who may not use a group. kafkajs 2.2.4 drops the answer when it asks for the group's
 * coordinator, and says that there is none, as in an outage. See docs/decisions/003-kafkajs-behind-an-interface.md.
 */
export function keepGroupDenials(): void {
  if (isPatched) return;
  isPatched = true;
  const require = createRequire(import.meta.url);
  const { prototype } = require("kafkajs/src/broker/index.js") as { prototype: Broker };
  const find = Reflect.get(prototype, "findGroupCoordinator");
  prototype.findGroupCoordinator = async function (this: Broker, request) {
    try {
      const answer = await find.call(this, request);
      // Another broker denied it, or this one did before the right was given.
      denials.delete(request.groupId);
      return answer;
    } catch (error) {
      if (findDenial(error) !== undefined) denials.set(request.groupId, error);
      throw error;
    }
  };
}

/** The denial that an error of this group's client stands for; the error itself when there was none. Forgets the denial. */
export function restoreDenial(groupId: string, error: Error): unknown {
  const denial = denials.get(groupId);
  denials.delete(groupId);
  return denial ?? error;
}
