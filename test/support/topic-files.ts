import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import type { TopicPlanReport } from "../../schemas/topics/plan.ts";
import type { TopicRecord } from "../../src/storage/topics/records.ts";
import { useFolder } from "./folder.ts";
import { unique } from "./names.ts";
import { runCli } from "./service.ts";
import { sharedStack, testDatabase } from "./stack.ts";

type Entry = Readonly<Record<string, unknown>>;

/** A file of topics; JSON is YAML. */
export const toFile = (entries: readonly Entry[], head: Entry = { set: "noc" }): string =>
  JSON.stringify({ ...head, topics: entries }, undefined, 1);

/** A topic in a file. */
export const entry = (externalId: string, more: Entry = {}): Entry => ({
  externalId,
  name: `name of ${externalId}`,
  ...more,
});

/** The actions of a plan by external id. */
export const toActions = ({ plan }: Pick<TopicPlanReport, "plan">): Record<string, string> =>
  Object.fromEntries(plan.changes.map(({ action, externalId }) => [externalId, action]));

const collectionNames = [
  "svc_api_notif_mgmt_topic",
  "svc_api_notif_mgmt_topic_retired",
  "topicsync_topic_versions",
  "topicsync_topic_details",
  "topicsync_topic_descriptions",
  "topicsync_topic_sets",
];

/** Creates scenes: a database, a folder of files, and the commands that compare them. */
export function useTopicFiles(stack = sharedStack()) {
  const folder = useFolder();
  return (moreSettings: Readonly<Record<string, string>> = {}) => {
    const { uri, db } = testDatabase(stack.mongodb);
    const settings = { MONGODB_URI: uri, ...moreSettings };
    const root = join(folder.path, unique("files"));
    const at = (name: string): string => join(root, name);
    const run = (...args: string[]) => runCli(["topics", ...args], settings);
    const plan = async (args: readonly string[] = [], code = 0): Promise<TopicPlanReport> => {
      const end = await run("plan", root, "--origin", "here", "--json", ...args);
      assert.equal(end.code, code, end.errors + end.output);
      return JSON.parse(end.output) as TopicPlanReport;
    };
    return {
      db,
      uri,
      settings,
      root,
      at,
      run,
      stored: db.collection<TopicRecord>("svc_api_notif_mgmt_topic"),
      details: db.collection<{ _id: string; set?: string }>("topicsync_topic_details"),
      write: (files: Readonly<Record<string, string>>): void => {
        for (const [name, text] of Object.entries(files)) {
          mkdirSync(dirname(at(name)), { recursive: true });
          writeFileSync(at(name), text);
        }
      },
      remove: (name: string): void => {
        rmSync(at(name));
      },
      /** Plans all files, and returns what `--json` prints. */
      plan,
      /** Plans and applies all files in one run. */
      apply: async (args: readonly string[] = [], code = 0) => {
        const end = await run("apply", root, "--yes", "--origin", "here", ...args);
        assert.equal(end.code, code, end.errors + end.output);
        return end;
      },
      /** Writes a plan of all files, and returns its file. */
      planTo: async (...args: string[]): Promise<string> => {
        const file = join(folder.path, unique("plan"));
        await plan(["--out", file, ...args]);
        return file;
      },
      /** Everything that commands store about topics. */
      readAll: () =>
        Promise.all(
          collectionNames.map((name) =>
            db
              .collection<{ _id: unknown }>(name)
              .find({}, { sort: { _id: 1 } })
              .toArray(),
          ),
        ),
    };
  };
}
