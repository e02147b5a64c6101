import assert from "node:assert/strict";
import { it } from "node:test";

import { OverloadedError } from "@topicsync/lib/errors";
import { createLifecycle } from "@topicsync/lib/lifecycle";
import { createServices } from "../../../src/service/services.ts";
import { createSignIn } from "../../../src/service/sign-in.ts";
import { readConfig } from "../../../src/config/config.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";

it("lets administrators set passwords while strangers fill the queue of logins", async () => {
  const { database, log } = await connectDatabase();
  const config = readConfig({});
  const services = createServices({ config, database, lifecycle: createLifecycle(log), log });
  const { verify } = await createSignIn(config, services, log);
  const logins = Array.from({ length: 100 }, (_, number) =>
    Promise.resolve(verify({ name: `stranger${number}`, password: "guess", address: `10.0.${number}.1` })),
  );
  await new Promise((resolve) => {
    for (const login of logins) login.catch(resolve);
  });
  const outcomes = Promise.allSettled(logins);
  const name = unique("user");
  await services.users.add({ name, password: "a long password", roles: [] });
  await services.users.setPassword(name, "another password");
  const rejected = (await outcomes).flatMap((outcome) =>
    outcome.status === "rejected" ? [outcome.reason as unknown] : [],
  );
  assert.ok(rejected.length > 0 && rejected.every((reason) => reason instanceof OverloadedError));
});
