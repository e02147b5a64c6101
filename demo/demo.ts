/**
 * `npm run demo`: the whole of topicsync in a minute, on a broker and a store of its own, told as a story.
 * `npm run demo -- --stay` leaves it running afterwards.
 */
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import { MongoClient, type Db } from "mongodb";

import { createProgress } from "../src/cli/output/progress.ts";
import { getErrorMessage } from "../src/lib/errors.ts";
import { openChannel, sampleAnnouncements, type Channel } from "./channel.ts";
import { post, getReason, type Credentials } from "./client.ts";
import { startAll, type DemoService } from "./service.ts";
import { bad, chapter, exchange, good, printLine, table, tell } from "./story.ts";

const { stay } = new Command("npm run demo --")
  .description("Shows topicsync at work on a broker and a store that it starts itself.")
  .option("--stay", "leave everything running at the end, with URLs, credentials and curl lines")
  .parse()
  .opts<{ stay?: true }>();

const administrator: Credentials = { user: "integrator", password: "demo-password" };
const application = "Mobile Agent";

try {
  await demo();
} catch (error) {
  printLine();
  printLine(`The demo could not go on: ${getErrorMessage(error)}`);
  process.exitCode = 1;
}

async function demo(): Promise<void> {
  printLine("topicsync keeps a MongoDB collection of event topics in step with a message broker.");

  chapter("A broker, a store and the service");
  await using service = await startAll(resolve(".topicsync"), { ...administrator, application });
  const channel = await openChannel(service.brokers, service.announcementsTopic, service.deadLetterTopic);
  const client = new MongoClient(service.mongodbUri);
  try {
    await announceTopics(channel, client.db());
    await registerTokens(service, client.db());
    const created = await createTopic(service);
    await showRefusals(service, channel, created);
    await showStored(channel, client.db());
    if (stay === true) await stayUntilInterrupted(service);
    else
      tell(
        "Run it once more: the same announcements will change nothing. `npm run demo -- --stay` leaves it running.",
      );
  } finally {
    await Promise.all([channel.close(), client.close()]);
  }
}

async function announceTopics(channel: Channel, db: Db): Promise<void> {
  chapter("The broker's administrators announce their topics");
  const samples = sampleAnnouncements();
  const topics = db.collection("svc_api_notif_mgmt_topic");
  const before = await topics.countDocuments();
  tell(
    `${samples.length} definitions go to the announcements topic. Each has two filters that say which events belong to`,
  );
  tell("the topic: one on the event's header, one on what is inside. For instance:");
  tell(samples[0]?.value ?? "");
  const end = await channel.announce(samples);
  const progress = createProgress("synced", samples.length);
  for (let done = 0; done < samples.length;) {
    await sleep(20);
    const position = await db.collection<{ next_offset: number }>("topicsync_positions").findOne({});
    done = Math.max(0, samples.length - Math.max(0, end - (position?.next_offset ?? 0)));
    progress.at(done);
  }
  const created = (await topics.countDocuments()) - before;
  progress.end(
    created > 0
      ? good(`${created} topics were created.`)
      : good("All of them were there already from the last time: nothing was written."),
  );
}

async function registerTokens(service: DemoService, db: Db): Promise<void> {
  chapter("Phones register their push tokens, and one signs off");
  const url = `${service.url}/api/now/push/${encodeURIComponent(application)}`;
  for (const [platform, token] of [
    ["ios", "9f86d081884c7d65"],
    ["ios", "2c26b46b68ffc68f"],
    ["android", "dGhlIHRva2Vu"],
  ]) {
    const { status } = await post(`${url}/installation`, administrator, { platform, token });
    exchange(
      `POST …/push/${application}/installation  {platform: ${platform ?? ""}, token: ${token ?? ""}}`,
      String(status),
    );
  }
  const { status } = await post(`${url}/removeInstallation`, administrator, { platform: "ios" });
  exchange(`POST …/push/${application}/removeInstallation  {platform: ios}`, String(status));
  const installations = db.collection("sys_push_notif_app_install");
  const [active, all] = await Promise.all([
    installations.countDocuments({ active: true }),
    installations.countDocuments(),
  ]);
  tell(`${all} installations are known, ${active} of them active: nothing is deleted, only deactivated.`);
}

async function createTopic(service: DemoService): Promise<Record<string, string>> {
  chapter("An integrator creates a topic by hand");
  const stamp = new Date().toISOString();
  const body = {
    name: `Major incidents (by hand, ${stamp})`,
    externalId: `by-hand-${stamp}`,
    namespace: "assurance",
    headerQuery: "eventType=TroubleTicketCreateEvent",
    contentQuery: "troubleTicket.severity=Critical,Major",
  };
  const { status, text } = await post(`${service.url}/api/svc_api_notif_mgmt/topic`, administrator, body);
  exchange(`POST /api/svc_api_notif_mgmt/topic  ${JSON.stringify(body)}`, `${status} ${text}`);
  return body;
}

async function showRefusals(
  service: DemoService,
  channel: Channel,
  created: Record<string, string>,
): Promise<void> {
  chapter("What is wrong is refused, with the reason");
  tell(
    "Over HTTP in the answer; from the broker on a dead-letter topic, where it waits to be mended and sent again.",
  );
  const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
  const sameId = await post(url, administrator, { ...created, name: "Another name" });
  const sameCombination = await post(url, administrator, { ...created, externalId: "another-id" });
  const badPassword = await post(url, { ...administrator, password: "guessed" }, created);
  const misspelt = JSON.stringify({
    externalId: "misspelt",
    name: "Misspelt",
    headerquery: "eventType=AlarmCreateEvent",
  });
  const end = await channel.announce([{ key: "misspelt", value: misspelt }]);
  const letter = await channel.deadLetter(end - 1);
  table(
    ["what was sent", "what came back"],
    [
      ["POST with an external id that exists", bad(getReason(sameId))],
      ["POST with a combination that exists", bad(getReason(sameCombination))],
      ["POST with a wrong password", bad(getReason(badPassword))],
      [
        "announcement with a misspelt member, headerquery",
        `on the dead-letter topic\n${bad(`${letter.code}: ${letter.message}`)}`,
      ],
    ],
    [44, 72],
  );
}

async function showStored(channel: Channel, db: Db): Promise<void> {
  chapter("What is stored now");
  const topics = await db
    .collection<{ namespace: string; topic_name: string; source: { kind: string } }>(
      "svc_api_notif_mgmt_topic",
    )
    .find({}, { sort: { namespace: 1, topic_name: 1 } })
    .toArray();
  const namespaces = Map.groupBy(topics, ({ namespace }) => namespace);
  table(
    ["namespace", "topics", "announced", "by hand", "for instance"],
    [...namespaces].map(([namespace, its]) => [
      namespace === "" ? "(none)" : namespace,
      its.length,
      its.filter(({ source }) => source.kind === "announcement").length,
      its.filter(({ source }) => source.kind === "http").length,
      its[0]?.topic_name ?? "",
    ]),
  );
  const installations = await db.collection("sys_push_notif_app_install").countDocuments({ active: true });
  tell(
    `${topics.length} topics, ${installations} active installation(s), ${await channel.deadLetters()} dead letter(s).`,
  );
}

async function stayUntilInterrupted(service: DemoService): Promise<void> {
  const { user, password } = administrator;
  const curl = (path: string, body: object): string =>
    `curl -i -u ${user}:${password} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' '${service.url}${path}'`;
  const app = encodeURIComponent(application);
  chapter("It stays until you press Ctrl-C");
  table(
    ["what", "where"],
    [
      ["HTTP", service.url],
      ["console", `${service.url}/console`],
      ["user and password", `${user} ${password}`],
      ["MongoDB", service.mongodbUri],
      ["Kafka", service.brokers],
      ["announcements topic", service.announcementsTopic],
      ["dead-letter topic", service.deadLetterTopic],
    ],
  );
  printLine();
  printLine(
    curl("/api/svc_api_notif_mgmt/topic", {
      name: "My topic",
      externalId: "my-topic",
      headerQuery: "eventType=AlarmCreateEvent",
    }),
  );
  printLine(curl(`/api/now/push/${app}/installation`, { platform: "ios", token: "my-token" }));
  printLine(curl(`/api/now/push/${app}/removeInstallation`, { platform: "ios" }));
  printLine(`curl -i ${service.url}/readyz`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  printLine();
}
