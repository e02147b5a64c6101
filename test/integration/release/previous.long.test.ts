/** The previous release beside this program on one database, and back. See test/previous-release. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

import { useFolder } from "../../support/folder.ts";
import { call, toBasicAuthorization } from "../../support/http.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { bootstrap, startTopicsync, type ServiceProcess } from "../../support/service.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = useFolder();
const { routerScene } = routerStage();
let program: string;

before(async () => {
  const packed = await readFile(join(root, "test/previous-release/program.mjs.gz"));
  program = folder.createFile("program.mjs", gunzipSync(packed).toString());
  // The program reads its version from its package, and its dependencies are those of this one.
  folder.createFile("package.json", await readFile(join(root, "package.json"), "utf8"));
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
});

const partitions = [0, 1];
const createEvents = (count: number) =>
  partitions.flatMap((partition) =>
    Array.from({ length: count }, (_, number) => ({ value: createEvent("E", { number }), partition })),
  );

it("runs beside this program, takes over from it, and gives back to it", async () => {
  const scene = routerScene({ PUSH_APPLICATIONS: "app", PUSH_PLATFORMS: "ios" });
  await scene.createTopic(2);
  await scene.createTopics(2);
  const start = async (which?: string): Promise<ServiceProcess> => {
    const service = await startTopicsync(scene.settings, which);
    await service.ready();
    return service;
  };
  let forwarded = 0;
  let announced = 1;
  /** Announces, retires, and sends events while whatever runs is running. */
  const goOn = async (): Promise<void> => {
    await scene.announce(announced, announced + 20);
    await scene.retire(announced, announced + 3);
    announced += 20;
    await scene.produce(...createEvents(10));
    forwarded += 10;
    await scene.caughtUp();
    await scene.routed();
  };
  const register = (service: ServiceProcess, token: string) =>
    call(`${service.url}/api/now/v1/push/app/installation`, { body: { platform: "ios", token } });
  const countActive = async (service: ServiceProcess): Promise<number> => {
    const { json } = await call(`${service.url}/api/topicsync/v1/installations?user=${bootstrap.user}`, {
      method: "GET",
    });
    return (json as { installations: { active: boolean }[] }).installations.filter(({ active }) => active)
      .length;
  };

  const previous = await start(program);
  await scene.send(defineTopic("all", "eventType=E"));
  scene.announced.set("all", "all");
  await until("the topic is stored", async () => (await scene.count()) === 1);
  await until("the router knows it", async () => {
    const { json } = await call(`${previous.url}/api/topicsync/v1/sync`, { method: "GET" });
    return (json as { router: { index: { topics: number } | null } }).router.index?.topics === 1;
  });
  await goOn();
  assert.equal((await register(previous, "a")).status, 200);

  const current = await start();
  await goOn();
  // Each serves what the other one stored, and accepts its users.
  assert.equal((await register(current, "b")).status, 200);
  for (const service of [previous, current]) assert.equal(await countActive(service), 2);
  await scene.post(current, { externalId: "by-current", name: "by-current", headerQuery: "eventType=Other" });
  // Not held to the contract of this program: it knows no versions.
  const { status } = await fetch(`${previous.url}/api/topicsync/v1/topics/by-current`, {
    headers: { Authorization: toBasicAuthorization(bootstrap) },
  });
  assert.equal(status, 200);
  scene.announced.set("by-current", "by-current");

  // The roll-back: the upgraded instance ends without a warning, and the previous one has everything.
  await current.stop("SIGKILL");
  await goOn();
  assert.equal(await countActive(previous), 2);
  assert.equal(await previous.stop(), 0);
  const rolledBack = await start(program);
  await goOn();
  assert.equal(await rolledBack.stop(), 0);

  const upgraded = await start();
  await goOn();
  await scene.inStep();
  await scene.assertForwarded(["all"], [forwarded, forwarded]);
  assert.equal(await countActive(upgraded), 2);
});
