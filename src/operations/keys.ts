import { createCursorFormat } from "@topicsync/lib/cursor";
import { NameTakenError } from "@topicsync/lib/errors";
import {
  createdKeySchema,
  keyListSchema,
  keyQuerySchema,
  newKeySchema,
  type KeyList,
  type KeyQuery,
  type NewKeyBody,
} from "../../schemas/api-key.ts";
import { findExcess } from "../users/rights.ts";
import { bodyRules } from "./framework/body.ts";
import { HttpError } from "./framework/errors.ts";
import { operation, type Operation } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";

const cursors = createCursorFormat("keys", ["string", "integer"]);

const path = "/api/topicsync/v1/keys";
const common = { access: "admin", tag: "keys" } as const;

export const createKey = operation({
  ...common,
  id: "createKey",
  method: "POST",
  paths: [path],
  summary: "Create an API key",
  description:
    "For programs, which send it as `Authorization: Bearer tsk_…`. The response is the only one that contains it. The key ends when it expires, at the latest after `KEYS_MAX_DAYS`, and while the user who created it, or created the key that did, is disabled. To replace a key without an interruption, create a second one with the same name, and delete the first once the program uses the second.",
  body: bodyRules<NewKeyBody>(newKeySchema),
  replies: { 201: { description: "The new key.", schema: createdKeySchema } },
  rejections: ["NAME_TAKEN"],
  async handle({ body: { name, roles, expiresOn }, user }, { keys }) {
    const excess = findExcess(user, roles);
    if (excess !== undefined)
      throw new HttpError("FORBIDDEN", "A key cannot have more rights than the user who creates it.", {
        detail: `You lack ${excess}, or a part of it.`,
      });
    try {
      const { key, event } = await keys.create({ name, roles, expiresOn: new Date(expiresOn) }, user);
      return { status: 201, json: key, audit: event };
    } catch (error) {
      if (!(error instanceof NameTakenError)) throw error;
      throw new HttpError("NAME_TAKEN", `Two valid keys are named "${name}".`, {
        detail: "Delete one of them first, or choose another name.",
      });
    }
  },
});

export const listKeys = operation({
  ...common,
  id: "listKeys",
  method: "GET",
  paths: [path],
  summary: "List API keys",
  description:
    "Without the keys themselves, which are not stored, one page at a time. Includes keys that have expired.",
  query: queryRules<KeyQuery>(keyQuerySchema),
  replies: { 200: { description: "A page of keys.", schema: keyListSchema } },
  async handle({ query: { after, limit } }, { keys }) {
    const position = after === undefined ? undefined : cursors.decode(after);
    const { keys: found, next } = await keys.findPage({ after: position, limit });
    const json: KeyList = { keys: [...found], next: next === undefined ? null : cursors.encode(next) };
    return { status: 200, json };
  },
});

export const deleteKey = operation({
  ...common,
  id: "deleteKey",
  method: "DELETE",
  paths: [`${path}/{id}`],
  summary: "Delete an API key",
  description: "The key is rejected within 30 seconds.",
  parameters: { id: "The `id` of the key." },
  replies: { 204: { description: "The key is deleted." } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { id = "" } }, { keys }) {
    const removed = await keys.remove(id);
    if (removed === undefined) throw new HttpError("NOT_FOUND", `There is no API key with the id "${id}".`);
    return { status: 204, audit: removed.event };
  },
});

/** Creates, lists and deletes API keys. */
export const keyOperations: readonly Operation[] = [createKey, listKeys, deleteKey];
