/**
 * One service for all test files of a folder that need no settings of their own: `test/run.ts` runs those
 * that import this file in one process. Each uses names and namespaces of its own, since none finds the
 * database empty.
 */
import { before } from "node:test";

import { stage } from "./scene.ts";
import { addUser, type TestService } from "./service.ts";

const { admin, scene } = stage();
const own = scene({
  // Lets tests send requests from several networks.
  HTTP_TRUSTED_PROXIES: "127.0.0.1",
  PUSH_APPLICATIONS: "App,Mobile Agent,Now Mobile,agent,other",
  PUSH_PLATFORMS: "ios,android",
});
let running: TestService | undefined;
let starting: Promise<TestService> | undefined;

async function start(): Promise<TestService> {
  starting ??= own.createTopic().then(() => own.start());
  return (running = await starting);
}
before(start);

function getRunning(): TestService {
  if (running === undefined) throw new Error("the service has not started yet: use `prepare`");
  return running;
}

export const service = {
  ...own,
  admin,
  get url() {
    return getRunning().url;
  },
  get log() {
    return getRunning().log;
  },
  /** Runs before the first test, once the service is ready. */
  prepare: (work: () => Promise<void>): void => {
    before(async () => {
      await start();
      await work();
    });
  },
  /** Adds a user by the command line; `options` such as `--role`. */
  addUser: (user: string, password: string, ...options: string[]) =>
    addUser(own.settings, user, password, ...options),
};
