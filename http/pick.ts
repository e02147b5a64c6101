import type { Request, RequestHandler, Router } from "express";

import { eventSchema, type Event, type PickResponse } from "../schemas/pick.ts";
import { Refusal } from "../src/errors.ts";
import { FilterSyntaxError } from "../src/filter/filter.ts";
import type { TopicDirectory } from "../src/picking/directory.ts";
import { explanationOf } from "../src/picking/explanation.ts";
import type { Authenticate } from "../src/users/credentials.ts";
import { roles } from "../src/users/user.ts";
import { compile } from "../src/validation.ts";
import { authenticated } from "./authentication.ts";
import { acceptsJson, checkedBody, jsonBody } from "./body.ts";
import { HttpError } from "./errors.ts";
import { postOperation, versioned } from "./routes.ts";

const checkEvent = compile<Event>(eventSchema);

/** `POST …/topic/pick[?explain=EXTERNALID]`: the topics that an event belongs to. */
export function pickRoutes(directory: TopicDirectory, authenticate: Authenticate): Router {
  const pick: RequestHandler = async (request, response) => {
    const event = checkedBody(request, checkEvent);
    const asked = askedFor(request);
    const topics = await directory.pick(event);
    const body: PickResponse = {
      topics: topics.map(({ id, externalId, name, namespace }) => ({ id, externalId, name, namespace })),
    };
    if (asked !== undefined) body.explain = await explanation(directory, asked, event);
    response.json(body);
  };
  return postOperation(
    [
      ...versioned("/api/svc_api_notif_mgmt", "/topic/pick"),
      ...versioned("/api/sn_api_notif_mgmt", "/topic/pick"),
    ],
    authenticated(authenticate, roles.eventManagement),
    acceptsJson,
    ...jsonBody({ wrongTypeStatus: 415 }),
    pick,
  );
}

function askedFor({ query }: Request): string | undefined {
  const { explain } = query;
  if (explain === undefined) return undefined;
  if (typeof explain === "string" && explain !== "") return explain;
  throw new HttpError("BAD_REQUEST", "The query parameter explain must be given once, with an external id.");
}

async function explanation(
  directory: TopicDirectory,
  externalId: string,
  event: Event,
): Promise<NonNullable<PickResponse["explain"]>> {
  const results = await conditionsOf(directory, externalId, event);
  if (results === undefined)
    throw new HttpError("NOT_FOUND", `There is no topic with the external id "${externalId}".`);
  return explanationOf(externalId, results);
}

/** A topic from before filters were checked may have one that cannot be read. */
async function conditionsOf(directory: TopicDirectory, externalId: string, event: Event) {
  try {
    return await directory.explain(externalId, event);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    throw new Refusal("BAD_FILTER", `The topic "${externalId}" is never picked: ${error.message}`, [
      { path: `/${error.member ?? ""}`, message: error.problem },
    ]);
  }
}
