import { Router, type RequestHandler } from "express";

import {
  registrationSchema,
  removalSchema,
  type Registration,
  type Removal,
} from "../schemas/installation.ts";
import type { InstallationService } from "../src/installations/service.ts";
import type { Authenticate } from "../src/users/credentials.ts";
import { compile } from "../src/validation.ts";
import { authenticated, userOf } from "./authentication.ts";
import { checkedBody, jsonBody } from "./body.ts";
import { postOperation, versioned } from "./routes.ts";

const checkRegistration = compile<Registration>(registrationSchema);
const checkRemoval = compile<Removal>(removalSchema);

/** `POST …/push/{app}/installation` and `…/removeInstallation` (specification 4.1 and 4.2). */
export function installationRoutes(installations: InstallationService, authenticate: Authenticate): Router {
  const register: RequestHandler<{ application: string }> = async (request, response) => {
    const body = checkedBody(request, checkRegistration);
    await installations.register(request.params.application, body, userOf(request));
    response.status(200).end();
  };
  const remove: RequestHandler<{ application: string }> = async (request, response) => {
    const body = checkedBody(request, checkRemoval);
    await installations.remove(request.params.application, body, userOf(request));
    response.status(200).end();
  };
  const operation = (name: string, handler: RequestHandler<{ application: string }>): Router =>
    postOperation(
      versioned("/api/now", `/push/:application/${name}`),
      authenticated(authenticate),
      ...jsonBody({ wrongTypeStatus: 400 }),
      handler as unknown as RequestHandler,
    );
  return Router().use(operation("installation", register)).use(operation("removeInstallation", remove));
}
