import { join } from "node:path";

import { MongoClient } from "mongodb";

import type { ServerCommand } from "@topicsync/embedded";
import { collections } from "../../src/storage/names.ts";
import { service } from "../support/contestant.ts";
import { toBasicAuthorization, type RequestTemplate } from "./request.ts";
import { installPackages } from "../support/npm.ts";
import parseProject from "./parse-server/package.json" with { type: "json" };
import { reportProgress } from "../support/report.ts";
import type { Workspace } from "../support/stack.ts";

export interface RegistrationServer {
  readonly name: string;
  /** The registration request. */
  readonly template: RequestTemplate;
  /** The collection of the registrations. */
  readonly collection: string;
  command(workspace: Workspace, port: number): Promise<ServerCommand>;
}

const json = { "Content-Type": "application/json" };
export const application = "bench-app";
export const platform = "bench-platform";

/** A minimal implementation; see floor.ts. */
export const httpFloor: RegistrationServer = {
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

/** The user of every regular client. */
export const serviceUser = { name: "bench", password: "a password of the benchmark" };

/** The built service, as in production, with credentials and all validation. */
export const httpService: RegistrationServer = {
  name: "service",
  template: {
    path: `/api/now/push/${application}/installation`,
    headers: { ...json, ...toBasicAuthorization(serviceUser.name, serviceUser.password) },
    body: JSON.stringify({ platform, token: "{token}" }),
  },
  collection: collections.installations,
  command: async (workspace, port) => {
    const command = await service.command(workspace);
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
 * Parse Server, a free back end for mobile apps that includes push registration: one process, no logs, with
 * indexes for its lookups of installations.
 */
export const parseServer: RegistrationServer = {
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
      { toolsFolder, report: reportProgress },
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
