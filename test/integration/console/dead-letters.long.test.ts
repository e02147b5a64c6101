import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { BrowserContextOptions, Page } from "playwright-core";

import {
  assertAccessible,
  assertAllLooks,
  saveScreenshot,
  useConsole,
  viewports,
} from "../../support/console.ts";
import { deadLetterMessage, prove } from "../../support/dead-letters.ts";
import { unique } from "../../support/names.ts";
import { definition, stage } from "../../support/scene.ts";
import { addUser, type TestService } from "../../support/service.ts";

const { admin, producer, scene } = stage();
const own = scene();
const { topic, deadLetterTopic } = own;
let service: TestService;
const { signIn, openConsole } = useConsole(() => service.url);

before(async () => {
  await own.createTopic();
  service = await own.start();
});

/** Announces, and waits until it is applied. */
async function announce(...sent: Parameters<typeof own.send>): Promise<void> {
  await own.send(...sent);
  const [offsets] = await admin.fetchTopicOffsets(topic);
  await own.reached(Number(offsets?.high));
}

const openDeadLetters = (options?: BrowserContextOptions): Promise<Page> =>
  openConsole("Dead letters", options);

/** A dead letter of another partition. */
const deadLetter = (
  offset: number,
  value: string | Buffer | null,
  headers: Record<string, string | Buffer> = {},
) => deadLetterMessage({ topic, partition: 7, offset }, { value, code: "UNDECODABLE", headers });

const holder = definition(unique("holder"));
const heir = { ...holder, externalId: unique("heir") };
const nameless = Array.from({ length: 3 }, () => ({
  externalId: unique("nameless"),
  name: "",
  headerQuery: 7,
}));

describe("the dead-letter pages", () => {
  it("report that there are none", async () => {
    const page = await openDeadLetters();
    await page.getByRole("heading", { name: "No dead letters" }).waitFor();
    await assertAccessible(page);
  });

  it("show the reason of a dead letter, and replay it once the cause is fixed", async () => {
    await announce(holder, heir);
    const page = await signIn();
    await page.getByRole("row", { name: heir.externalId }).getByRole("link").click();
    await page.getByRole("heading", { name: "DUPLICATE_COMBINATION" }).waitFor();
    await page.getByText(holder.externalId).first().waitFor();
    await page.getByText("Not replayed yet.").waitFor();

    await announce(holder.externalId);
    await page.getByRole("button", { name: "Replay" }).click();
    const dialog = page.getByRole("dialog", { name: "Replay 1 dead letter?" });
    await dialog.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("heading", { name: "1 sent: 1 applied" }).waitFor();
    await page.getByRole("region", { name: "Replays" }).getByText("applied").waitFor();
    assert.equal((await own.topics.findOne({ topic_id: heir.externalId }))?.topic_name, heir.name);
  });

  it("filter by code, and replay several dead letters by keyboard", async () => {
    await announce(...nameless);
    const page = await openDeadLetters();
    await page.getByRole("link", { name: "SCHEMA_VIOLATION 3" }).click();
    assert.equal(new URL(page.url()).search, "?code=SCHEMA_VIOLATION");
    await page.getByRole("row", { name: heir.externalId }).waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "All on this page" }).press("Space");
    await page.getByRole("button", { name: "Replay 3" }).press("Enter");
    await page.getByRole("dialog", { name: "Replay 3 dead letters?" }).waitFor();
    await assertAccessible(page);
    await saveScreenshot(page, "dead-letters-replay");
    await page.getByRole("dialog").getByRole("button", { name: "Replay" }).press("Enter");
    await page.getByRole("heading", { name: "3 sent: 3 rejected" }).waitFor();
    await page.getByRole("link", { name: "SCHEMA_VIOLATION 6" }).waitFor();

    await page.getByLabel("Replayed").selectOption("Replayed");
    const original = page.getByRole("row", { name: nameless[0]?.externalId ?? "" });
    await original.filter({ hasText: "rejected again" }).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Replay" }).click();
    const nothing = page.getByRole("dialog", { name: "Nothing can be sent" });
    await nothing.getByText(/replayed on .*: rejected/).waitFor();
    assert.equal(await nothing.getByRole("button", { name: "Replay" }).isEnabled(), false);
    await nothing.getByLabel("Also replay what was replayed before").check();
    await page.getByRole("dialog", { name: "Replay 1 dead letter?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await own.deadLetters(), 1 + 6);
  });

  it("show any content", async () => {
    const path = "/topics/9000/name";
    const topics = Array.from({ length: 10_000 }, (_, i) => ({ name: `topic ${i}` }));
    await producer.send({
      topic: deadLetterTopic,
      messages: await prove(own.db, deadLetterTopic, [
        deadLetter(1, Buffer.from([0, 255, 1, 254]), { own: Buffer.from([0xff, 0xfe]) }),
        deadLetter(2, null),
        deadLetter(3, JSON.stringify({ topics }), {
          "topicsync.details": JSON.stringify([{ path, message: "is one too many" }]),
        }),
        deadLetter(4, '{"name": "<img src=x onerror=alert(1)>", "big": 12345678901234567890}', {
          "__connect.errors.exception.message": "<script>alert(2)</script>\u202e",
          "topicsync.details": '[{"path":"/nothing/there","message":"<b>is required</b>"}]',
          "<i>": "<u>",
        }),
        deadLetter(5, Buffer.concat([Buffer.from([0, 0, 0, 0, 9]), Buffer.from('{"name":""}')])),
        deadLetter(6, "no JSON\u0007"),
      ]),
    });
    const page = await openDeadLetters();
    const show = async (offset: number): Promise<void> => {
      await page.goto(`${service.url}/console/dead-letters/${topic}-7-${offset}`);
      await page.getByText(`${topic}-7-${offset}`).waitFor();
    };
    const json = page.getByRole("region", { name: "JSON" });

    await show(1);
    await page.getByText("00000000 00 ff 01 fe").waitFor();
    await page.getByRole("row", { name: "own" }).getByText("0xfffe").waitFor();
    await show(2);
    await page.getByText("None (tombstone).").waitFor();
    await show(3);
    await json.getByText('"name": "topic 9000"').waitFor();
    await json.getByText("✗ is one too many").waitFor();
    assert.ok((await json.innerText()).split("\n").length < 500);
    await show(4);
    await json.getByText('"big": 12345678901234567890').waitFor();
    await json.getByText("✗ /nothing/there <b>is required</b>").waitFor();
    await page.getByText("<script>alert(2)</script>\\u{202e}").waitFor();
    await show(5);
    await page.getByText("framed by Confluent with schema 9").waitFor();
    await json.getByText('"name": ""').waitFor();
    await show(6);
    await page.getByRole("region", { name: "Text" }).getByText("no JSON\\u{7}").waitFor();
    await page.getByRole("button", { name: "Hex" }).click();
    await page.getByText("6e 6f 20 4a 53 4f 4e 07").waitFor();
    await page.goto(`${service.url}/console/dead-letters/nothing-0-1`);
    await page.getByRole("alert").getByText('There is no dead letter "nothing-0-1".').waitFor();
  });

  it("are hidden from users without the role", async () => {
    const [user, password] = [unique("reader"), "a reader's password"];
    await addUser(own.settings, user, password);
    const page = await signIn({ user, password });
    await page.getByText("Viewing dead letters requires the right").waitFor();
    assert.equal(await page.getByRole("row", { name: /SCHEMA_VIOLATION|UNDECODABLE/ }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "Dead letters" }).count(), 0);
  });

  it("are accessible", async () => {
    const page = await openDeadLetters(viewports.narrow);
    await page.getByRole("link", { name: "SCHEMA_VIOLATION" }).first().click();
    await page.getByRole("row", { name: "UNDECODABLE" }).first().waitFor({ state: "detached" });
    await page
      .getByRole("row", { name: nameless[0]?.externalId ?? "" })
      .first()
      .waitFor();
    await assertAllLooks(page, "dead-letters");
    await page.getByRole("row", { name: "rejected again" }).getByRole("link").first().click();
    await page.getByRole("region", { name: "JSON" }).getByText("✗ must not be empty").waitFor();
    await assertAllLooks(page, "dead-letter");
  });
});
