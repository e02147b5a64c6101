/**
 * `npm run demo` shows topicsync in one minute, on a broker and a store that it starts itself.
 * `npm run demo -- --stay` keeps everything running afterwards.
 */
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import { MongoClient, type Db } from "mongodb";

import { createBroker } from "@topicsync/kafka/client";
import { getErrorMessage } from "@topicsync/lib/errors";
import { createLogger } from "@topicsync/lib/logger";
import { createProgress } from "../src/cli/output/progress.ts";
import { openChannel, readSampleAnnouncements, type Channel } from "./channel.ts";
import { formatError, post, type Credentials } from "./client.ts";
import { forwardEvent } from "./forward.ts";
import { startAll, type DemoService } from "./service.ts";
import { green, printExchange, printHeading, printIndented, printLine, printTable, yellow } from "./story.ts";

const { stay } = new Command("npm run demo --")
  .description("Show topicsync at work, on a broker and a store that it starts itself.")
  .option("--stay", "keep everything running at the end, and print URLs, credentials and curl commands")
  .parse()
  .opts<{ stay?: true }>();

const administrator: Credentials = { user: "integrator", password: "demo-password" };
const application = "Mobile Agent";
const maxCopiesShown = 8;

try {
  await runDemo();
} catch (error) {
  printLine();
  printLine(`The demo failed: ${getErrorMessage(error)}`);
  process.exitCode = 1;
}

async function runDemo(): Promise<void> {
  printLine(
    "topicsync keeps a MongoDB collection of event topics in sync with Kafka, forwards events to them, and registers push tokens.",
  );

  printHeading("Start a broker, a store and the service");
  await using service = await startAll(resolve(".topicsync"), { ...administrator, application });
  const { announcementsTopic, deadLetterTopic } = service.kafka;
  const channel = await openChannel(service.brokers, announcementsTopic, deadLetterTopic);
  const client = new MongoClient(service.mongodbUri);
  try {
    await announceTopics(channel, client.db());
    await registerTokens(service, client.db());
    const created = await createTopic(service);
    await showRejections(service, channel, created);
    await showStored(channel, client.db());
    await forwardTicket(service);
    if (stay === true) await stayUntilInterrupted(service);
    else
      printIndented(
        "Run the demo again: the same announcements change nothing. `npm run demo -- --stay` keeps it running.",
      );
  } finally {
    await Promise.all([channel.close(), client.close()]);
  }
}

async function announceTopics(channel: Channel, db: Db): Promise<void> {
  printHeading("Announce topics on Kafka");
  const samples = readSampleAnnouncements();
  const topics = db.collection("svc_api_notif_mgmt_topic");
  const positions = db.collection<{ next_offset: number }>("topicsync_positions");
  const before = await topics.countDocuments();
  printIndented(
    `${samples.length} topic definitions are sent to the announcements topic. Each has two filters that select the events`,
  );
  printIndented("of the topic: one on the event's header, one on its content. For example:");
  printIndented(samples[0]?.value ?? "");
  const end = await channel.announce(samples);
  const progress = createProgress("synced", samples.length);
  for (let done = 0; done < samples.length;) {
    await sleep(20);
    const position = await positions.findOne({ "_id.topic": channel.topic });
    done = Math.max(0, samples.length - Math.max(0, end - (position?.next_offset ?? 0)));
    progress.at(done);
  }
  const created = (await topics.countDocuments()) - before;
  progress.end(
    created > 0
      ? green(`${created} topics created.`)
      : green("All topics existed already, from the last run: nothing was written."),
  );
}

async function registerTokens(service: DemoService, db: Db): Promise<void> {
  printHeading("Register push tokens, and remove the iOS ones");
  const url = `${service.url}/api/now/push/${encodeURIComponent(application)}`;
  for (const [platform, token] of [
    ["ios", "9f86d081884c7d65"],
    ["ios", "2c26b46b68ffc68f"],
    ["android", "dGhlIHRva2Vu"],
  ]) {
    const { status } = await post(`${url}/installation`, administrator, { platform, token });
    printExchange(
      `POST …/push/${application}/installation  {platform: ${platform ?? ""}, token: ${token ?? ""}}`,
      String(status),
    );
  }
  const { status } = await post(`${url}/removeInstallation`, administrator, { platform: "ios" });
  printExchange(`POST …/push/${application}/removeInstallation  {platform: ios}`, String(status));
  const installations = db.collection("sys_push_notif_app_install");
  const [active, all] = await Promise.all([
    installations.countDocuments({ active: true }),
    installations.countDocuments(),
  ]);
  printIndented(
    `${all} installations are stored, ${active} of them active: a removal only deactivates them.`,
  );
}

async function createTopic(service: DemoService): Promise<Record<string, string>> {
  printHeading("Create a topic over HTTP");
  const stamp = new Date().toISOString();
  const body = {
    name: `Major incidents (${stamp})`,
    externalId: `demo-${stamp}`,
    namespace: "assurance",
    headerQuery: "eventType=TroubleTicketCreateEvent",
    contentQuery: "troubleTicket.severity=Critical,Major",
  };
  const { status, text } = await post(`${service.url}/api/svc_api_notif_mgmt/topic`, administrator, body);
  printExchange(`POST /api/svc_api_notif_mgmt/topic  ${JSON.stringify(body)}`, `${status} ${text}`);
  return body;
}

async function showRejections(
  service: DemoService,
  channel: Channel,
  created: Record<string, string>,
): Promise<void> {
  printHeading("Send invalid input");
  printIndented(
    "HTTP responds with the reason. A rejected announcement goes to the dead-letter topic, to be corrected and replayed.",
  );
  const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
  const sameId = await post(url, administrator, { ...created, name: "Another name" });
  const sameCombination = await post(url, administrator, { ...created, externalId: "another-id" });
  const badPassword = await post(url, { ...administrator, password: "guessed" }, created);
  const misspelled = JSON.stringify({
    externalId: "misspelled",
    name: "Misspelled",
    headerquery: "eventType=AlarmCreateEvent",
  });
  const end = await channel.announce([{ key: "misspelled", value: misspelled }]);
  const deadLetter = await channel.waitForDeadLetter(end - 1);
  printTable(
    ["input", "result"],
    [
      ["POST with an existing external id", yellow(formatError(sameId))],
      ["POST with an existing name and filters", yellow(formatError(sameCombination))],
      ["POST with a wrong password", yellow(formatError(badPassword))],
      [
        "announcement with a misspelled member: headerquery",
        `dead letter\n${yellow(`${deadLetter.code}: ${deadLetter.message}`)}`,
      ],
    ],
    [44, 72],
  );
}

async function showStored(channel: Channel, db: Db): Promise<void> {
  printHeading("What is stored");
  const topics = await db
    .collection<{ namespace: string; topic_name: string; source: { kind: string } }>(
      "svc_api_notif_mgmt_topic",
    )
    .find({}, { sort: { namespace: 1, topic_name: 1 } })
    .toArray();
  const namespaces = Map.groupBy(topics, ({ namespace }) => namespace);
  printTable(
    ["namespace", "topics", "from Kafka", "from HTTP", "example"],
    [...namespaces].map(([namespace, members]) => [
      namespace === "" ? "(none)" : namespace,
      members.length,
      members.filter(({ source }) => source.kind === "announcement").length,
      members.filter(({ source }) => source.kind === "http").length,
      members[0]?.topic_name ?? "",
    ]),
  );
  const installations = await db.collection("sys_push_notif_app_install").countDocuments({ active: true });
  printIndented(
    `${topics.length} topics, ${installations} active installation(s), ${await channel.countDeadLetters()} dead letter(s).`,
  );
}

async function forwardTicket({ kafka }: DemoService): Promise<void> {
  const { router } = kafka;
  if (router === undefined) return;
  printHeading("Forward an event to its topics");
  const event = {
    eventId: `demo-${Date.now()}`,
    eventType: "TroubleTicketCreateEvent",
    event: { troubleTicket: { severity: "Critical", ticketType: "network" } },
  };
  printIndented(
    `An event is sent to the Kafka topic ${router.topic}, and arrives at each topic whose filters it meets:`,
  );
  printIndented(JSON.stringify(event));
  const broker = createBroker(kafka, await createLogger("silent"));
  try {
    const copies = await forwardEvent(Buffer.from(JSON.stringify(event)), { broker, kafka, router });
    const rows = copies
      .slice(0, maxCopiesShown)
      .map(({ externalId, egressTopic }) => [externalId, egressTopic]);
    printTable(["forwarded to", "in the Kafka topic"], rows);
    const more = copies.length - rows.length;
    printIndented(
      green(`${copies.length} copies, committed together.${more > 0 ? ` ${more} are not shown.` : ""}`),
    );
  } finally {
    await broker.close();
  }
}

async function stayUntilInterrupted(service: DemoService): Promise<void> {
  const { user, password } = administrator;
  const curl = (path: string, body: object): string =>
    `curl -i -u ${user}:${password} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' '${service.url}${path}'`;
  const app = encodeURIComponent(application);
  printHeading("Running until you press Ctrl-C");
  printTable(
    ["what", "value"],
    [
      ["HTTP", service.url],
      ["console", `${service.url}/console`],
      ["user and password", `${user} ${password}`],
      ["MongoDB", service.mongodbUri],
      ["Kafka", service.brokers],
      ["announcements topic", service.kafka.announcementsTopic],
      ["dead-letter topic", service.kafka.deadLetterTopic],
      ["events topic", service.kafka.router?.topic ?? ""],
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
