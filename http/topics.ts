import type { RequestHandler, Router } from "express";

import { topicBodySchema, type TopicBody, type TopicResponse } from "../schemas/topic.ts";
import type { TopicService } from "../src/topics/service.ts";
import { roles } from "../src/users/user.ts";
import type { Authenticate } from "../src/users/credentials.ts";
import { compile } from "../src/validation.ts";
import { authenticated, userOf } from "./authentication.ts";
import { acceptsJson, checkedBody, jsonBody } from "./body.ts";
import { postOperation, versioned } from "./routes.ts";

const checkTopic = compile<TopicBody>(topicBodySchema);

/** `POST …/topic` (specification 4.3), under the neutral path segment and under the original one. */
export function topicRoutes(topics: TopicService, authenticate: Authenticate): Router {
  const create: RequestHandler = async (request, response) => {
    const topic = await topics.create(checkedBody(request, checkTopic), userOf(request).name);
    const { contentQuery, externalId, headerQuery, id, name, namespace } = topic;
    const body: TopicResponse = { contentQuery, externalId, headerQuery, id, name, namespace };
    response.status(201).json(body);
  };
  return postOperation(
    [...versioned("/api/svc_api_notif_mgmt", "/topic"), ...versioned("/api/sn_api_notif_mgmt", "/topic")],
    authenticated(authenticate, roles.eventManagement),
    acceptsJson,
    ...jsonBody({ wrongTypeStatus: 415 }),
    create,
  );
}
