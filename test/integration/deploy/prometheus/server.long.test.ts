/**
 * A real Prometheus with a running service, the scrape settings of the guide, the alerts and the dashboard.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { findFreePort, startProcess, type ServerProcess } from "@topicsync/embedded";
import { parseBlocks, root } from "../../docs/pages.ts";
import { useFolder } from "../../../support/folder.ts";
import { call } from "../../../support/http.ts";
import { createKafkaTopics } from "../../../support/kafka-topics.ts";
import { unique } from "../../../support/names.ts";
import { until } from "../../../support/poll.ts";
import { definition, stage } from "../../../support/scene.ts";
import type { TestService } from "../../../support/service.ts";
import { readAlertNames, readAlerts } from "../alerts.ts";
import { expandQuery, queries } from "../dashboard.ts";

const { admin, producer, scene } = stage();
let prometheus: ServerProcess | undefined;
// Before `useFolder`: Prometheus stops before its folder is removed.
after(() => prometheus?.stop());
const folder = useFolder();

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
}

describe("a Prometheus with the settings of the guide", () => {
  const own = scene();
  const feedback = unique("feedback");
  const events = unique("events");
  let service: TestService;
  let url = "";

  before(async () => {
    await own.createTopic();
    await createKafkaTopics(
      admin,
      { topic: feedback, numPartitions: 1 },
      { topic: events, numPartitions: 1 },
    );
    service = await own.start({
      KAFKA_PUSH_FEEDBACK_TOPIC: feedback,
      KAFKA_EVENTS_TOPIC: events,
      KAFKA_EGRESS_TOPIC: unique("egress"),
      KAFKA_EGRESS_CREATE: "true",
      PUSH_APPLICATIONS: "agent",
      PUSH_PLATFORMS: "ios",
      PICKER_LOAD: "start",
    });
    url = await startPrometheus(new URL(service.url).host);
  });

  /** Starts Prometheus with the settings of the guide, for this service and with a shorter interval. */
  async function startPrometheus(target: string): Promise<string> {
    const page = "docs/operations.md";
    const block = parseBlocks(page, readFileSync(join(root, page), "utf8")).find(({ text }) =>
      text.startsWith("scrape_configs:"),
    );
    const scrape = block?.text.replace(/targets: \[.*\]/, `targets: ["${target}"]`) ?? "";
    assert.match(scrape, /rule_files: \[alerts\.yml\]/);
    const settings = "global: { scrape_interval: 1s, evaluation_interval: 1s }\n";
    const configFile = folder.createFile("prometheus.yml", `${settings}${scrape}`);
    folder.createFile("alerts.yml", readAlerts());
    const address = `127.0.0.1:${await findFreePort()}`;
    const server = await startProcess({
      command: "prometheus",
      args: [
        `--config.file=${configFile}`,
        `--storage.tsdb.path=${join(folder.path, "data")}`,
        `--web.listen-address=${address}`,
      ],
      env: {},
      logFile: join(folder.path, "prometheus.log"),
    });
    prometheus = server;
    const ended = server.ended.then(async (end) => {
      throw new Error(`Prometheus ${end}: ${await server.readLastOutput()}`);
    });
    ended.catch(() => undefined);
    const ready = until("Prometheus is ready", async () => (await fetch(`http://${address}/-/ready`)).ok);
    await Promise.race([ended, ready]);
    return `http://${address}`;
  }

  const get = async (path: string) => {
    const response = await fetch(`${url}/api/v1/${path}`);
    return ((await response.json()) as { data: unknown }).data;
  };

  /** Returns the current values of a query, without NaN. */
  async function queryValues(query: string): Promise<number[]> {
    const { result } = (await get(`query?query=${encodeURIComponent(query)}`)) as {
      result: { value: [number, string] }[];
    };
    return result.map(({ value }) => Number(value[1])).filter((value) => !Number.isNaN(value));
  }

  /** Sends some of everything that the service counts. */
  async function sendTraffic(round: number): Promise<void> {
    await own.send(definition(`id-${round}`), { externalId: "", name: "rejected" });
    await producer.send({
      topic: feedback,
      messages: [
        { value: "no report" },
        { value: JSON.stringify({ token: `t-${round}`, reason: "unregistered" }) },
      ],
    });
    await producer.send({
      topic: events,
      messages: [
        { value: "no event" },
        { value: JSON.stringify({ eventType: "ResourceCreateEvent", event: { resource: { id: "id-1" } } }) },
      ],
    });
    await call(`${service.url}/api/now/push/agent/installation`, {
      body: { platform: "ios", token: `t-${round}` },
    });
  }

  it("has data for every panel of the dashboard", async () => {
    let round = 0;
    const empty = new Set(queries.map(({ expr }) => expandQuery(expr, "10s")));
    await until(`every query has a result; without one: ${[...empty].join(", ")}`, async () => {
      await sendTraffic((round += 1));
      for (const query of empty) if ((await queryValues(query)).length > 0) empty.delete(query);
      return empty.size === 0;
    }).catch((error: unknown) => {
      throw new Error(`without a result: ${[...empty].join("\n")}`, { cause: error });
    });
    // A scrape each second fails now and then on a busy machine.
    await until(
      "Prometheus counts the service as up",
      async () => (await queryValues('sum(up{job="topicsync"})'))[0] === 1,
    );
    const rejected = 'sum(topicsync_announcements_total{outcome="rejected"})';
    await until(
      "Prometheus has counted all rejections",
      async () => (await queryValues(rejected))[0] === round,
    );
  });

  it("evaluates every alert, and fires only those for rejected records", async () => {
    const getRules = async (): Promise<Rule[]> => {
      const { groups } = (await get("rules")) as { groups: { rules: Rule[] }[] };
      return groups.flatMap((group) => group.rules);
    };
    const getFiring = (all: readonly Rule[]) =>
      all.filter(({ state }) => state === "firing").map(({ name }) => name);
    await until("the alerts fire", async () => getFiring(await getRules()).length >= 3);
    const all = await getRules();
    assert.deepEqual(getFiring(all), [
      "TopicsyncAnnouncementsRejected",
      "TopicsyncPushFeedbackRejected",
      "TopicsyncEventsRejected",
    ]);
    assert.deepEqual(
      all.filter(({ health }) => health !== "ok"),
      [],
    );
    assert.equal(all.length, readAlertNames().length);
  });
});
