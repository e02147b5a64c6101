import { join } from "node:path";

import { MongoClient } from "mongodb";

import { collections } from "../../src/storage/names.ts";
import type { ServerCommand } from "../../src/embedded/process.ts";
import { service } from "../support/contestants.ts";
import { basicAuthorization, type RequestTemplate } from "./request.ts";
import { installPackages } from "../support/npm.ts";
import parseProject from "./parse-server/package.json" with { type: "json" };
import { progress } from "../support/report.ts";
import type { Arena } from "../support/stack.ts";

/** One way to register push tokens. */
export interface Registrar {
  readonly name: string;
  /** How a device registers with it. */
  readonly template: RequestTemplate;
  /** Where it keeps what is registered. */
  readonly collection: string;
  command(arena: Arena, port: number): Promise<ServerCommand>;
}

const json = { "Content-Type": "application/json" };
export const application = "bench-app";
export const platform = "bench-platform";

/** The least that anybody would write; see http-floor.ts. */
export const httpFloor: Registrar = {
  name: "floor",
  template: {
    path: `/push/${application}/installation`,
    headers: json,
    body: JSON.stringify({ platform, token: "{token}" }),
  },
  collection: collections.installations,
  command: ({ uri, folder }, port) =>
    Promise.resolve({
      command: process.execPath,
      args: [join(import.meta.dirname, "floor.ts"), uri, String(port)],
      env: { NODE_ENV: "production" },
      logFile: join(folder, "http-floor.log"),
    }),
};

/** Whom every good client is. */
export const serviceUser = { name: "bench", password: "a password of the benchmark" };

/** The service, built, as it runs in production, with credentials and every check. */
export const httpService: Registrar = {
  name: "service",
  template: {
    path: `/api/now/push/${application}/installation`,
    headers: { ...json, ...basicAuthorization(serviceUser.name, serviceUser.password) },
    body: JSON.stringify({ platform, token: "{token}" }),
  },
  collection: collections.installations,
  command: async (arena, port) => {
    const command = await service.command(arena);
    return {
      ...command,
      env: {
        ...command.env,
        HTTP_PORT: String(port),
        BOOTSTRAP_USER: serviceUser.name,
        BOOTSTRAP_PASSWORD: serviceUser.password,
        PUSH_APPLICATIONS: application,
        PUSH_PLATFORMS: platform,
      },
    };
  },
};

/**
 * Parse Server, the free back end of mobile apps, of which push registration is a part: one process, without
 * logs, with indexes on what it looks installations up by.
 */
export const parseServer: Registrar = {
  name: "Parse Server",
  template: {
    path: "/parse/installations",
    headers: { ...json, "X-Parse-Application-Id": "bench" },
    body: JSON.stringify({ deviceType: "ios", deviceToken: "{token}", installationId: "{token}" }),
  },
  collection: "_Installation",
  command: async ({ uri, folder, toolsFolder }, port) => {
    const packages = await installPackages(
      {
        name: `Parse Server ${parseProject.dependencies["parse-server"]}`,
        project: join(import.meta.dirname, "parse-server"),
      },
      { toolsFolder, report: progress },
    );
    await using client = new MongoClient(uri);
    await client
      .db()
      .collection("_Installation")
      .createIndexes([{ key: { installationId: 1 } }, { key: { deviceToken: 1 } }]);
    return {
      command: process.execPath,
      args: [join(import.meta.dirname, "parse-server.ts"), packages, uri, String(port)],
      env: { NODE_ENV: "production", PARSE_SERVER_LOGS_FOLDER: "null" },
      logFile: join(folder, "parse-server.log"),
    };
  },
};
