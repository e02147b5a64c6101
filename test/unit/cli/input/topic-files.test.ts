import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { loadTopicFiles } from "../../../../src/cli/input/topic-files/load.ts";
import { toRepositoryOrigin } from "../../../../src/cli/input/repository.ts";
import type { DesiredTopic } from "../../../../src/plans/desired.ts";
import { useFolder } from "../../../support/folder.ts";
import { unique } from "../../../support/names.ts";

const folder = useFolder();

/** Writes files into a new folder, and loads them. Returns the faults as `file:line:column: message`. */
async function load(files: Readonly<Record<string, string | Uint8Array>>, paths = ["."], set?: string) {
  const root = join(folder.path, unique("files"));
  mkdirSync(join(root, "sub"), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content);
  const loaded = await loadTopicFiles(
    paths.map((path) => join(root, path)),
    { root, set },
  );
  if (!("faults" in loaded)) return { loaded, faults: [], root };
  const faults = loaded.faults.map(({ place, message }) =>
    `${place.file}:${place.line}:${place.column}: ${message}`.replaceAll(`${root}/`, ""),
  );
  return { loaded: undefined, faults, root };
}

async function readAll(files: Readonly<Record<string, string>>, set?: string): Promise<DesiredTopic[]> {
  const { loaded, faults } = await load(files, ["."], set);
  assert.deepEqual(faults, []);
  const topics: DesiredTopic[] = [];
  for await (const topic of loaded?.read(new Set(loaded.topics.keys())) ?? []) topics.push(topic);
  return topics;
}

describe("files of topics", () => {
  it("mean the same as YAML, JSON and NDJSON", async () => {
    const topic = {
      externalId: "a",
      name: "A",
      contentQuery: "x=1",
      labels: { "4711": "b" },
      tags: ["z", "a"],
      protected: true,
    };
    const yaml = `set: noc
defaults:
  namespace: space
  owner: team
topics:
  - externalId: a
    name: A
    contentQuery: x=1
    labels: { 4711: b }
    tags: [z, a]
    protected: true
`;
    const defaults = { namespace: "space", owner: "team" };
    const [fromYaml] = await readAll({ "f.yaml": yaml });
    const [fromJson] = await readAll({ "f.json": JSON.stringify({ set: "noc", defaults, topics: [topic] }) });
    const [fromLines] = await readAll(
      { "f.ndjson": `\n${JSON.stringify({ ...defaults, ...topic })}\n` },
      "noc",
    );
    assert.equal(fromYaml?.definition?.namespace, "space");
    assert.deepEqual(fromYaml.details.tags, ["a", "z"]);
    assert.deepEqual({ ...fromJson, path: "" }, { ...fromYaml, path: "" });
    assert.deepEqual({ ...fromLines, path: "" }, { ...fromYaml, path: "" });
  });

  it("have paths relative to the repository, in folders and without hidden files", async () => {
    const one = "set: noc\ntopics: [{ externalId: one, name: One }]\n";
    const { loaded } = await load({ "sub/a.yml": one, ".hidden.yaml": "?", "notes.md": "" });
    assert.deepEqual(loaded?.paths, [""]);
    assert.equal(loaded.topics.get("one")?.file.endsWith("sub/a.yml"), true);
    for await (const topic of loaded.read(new Set(["one"]))) assert.equal(topic.path, "sub/a.yml");
  });

  it("report all faults at once, with their places", async () => {
    const { faults } = await load({
      "a.yaml": `set: noc
topics:
  - externalId: 4711
    name: A
    contentQuerry: a=1
  - externalId: x
    name: X
    contentQuery: "a=1;b"
    labels: { a: 5 }
  - externalId: y
    name: Y
    contentQuery: "a=1;b=2"
`,
      "b.yaml": "set: noc\ntopics:\n  - externalId: y\n    name: A\n    name: B\n",
      "c.ndjson":
        '{"externalId":"q","name":"Q","name":"R"}\n{"externalId":"y","name":"Y"}\n{"externalId":"z"',
      "d.yaml":
        "set: other\ntopics: [{ externalId: d, name: D }, { externalId: e, name: E, renamedFrom: d }]\n",
      "e.yaml": "# nothing\n",
      "f.json": "topics: [\n",
    });
    assert.deepEqual(faults, [
      "a.yaml:5:5: contentQuerry is not a known member; did you mean contentQuery?",
      "a.yaml:3:5: externalId must be a string, but is a number; quote it",
      "a.yaml:9:15: labels.a must be a string, but is a number; quote it",
      'a.yaml:12:5: contentQuery has a ";", which is ambiguous: the examples of TMF630 use it for AND and for OR; write "&" for AND, "," for OR, "%3B" for the character itself, at character 4',
      'b.yaml:5:5: "name" is already set at b.yaml:4:5',
      'c.ndjson:1:30: "name" is already set at c.ndjson:1:19',
      'c.ndjson:2:1: the external id "y" is already used at a.yaml:10:5',
      "c.ndjson:3:18: Flow map must end with a }",
      'd.yaml:1:1: the set is "other", but "noc" at a.yaml:1:1; a plan has one set',
      "e.yaml:1:1: is empty; a file without topics has `topics: []`",
      "f.json:2:1: Flow sequence in block collection must be sufficiently indented and end with a ]",
      'd.yaml:2:38: renamedFrom names "d", which is also used at d.yaml:2:10',
    ]);
  });

  it("are YAML 1.2 without aliases, several documents, or other encodings", async () => {
    const { faults } = await load({
      "a.yaml": "set: noc\ntopics:\n  - &one { externalId: a, name: A }\n  - *one\n",
      "b.yaml": "set: noc\n---\ntopics: []\n",
      "c.yaml": "%YAML 1.1\n---\nset: noc\ntopics: []\n",
      "d.yaml": "set: noc\ntopics: !!python [ ]\n",
      "e.yaml": Buffer.from("set: caf\u00e9\n", "latin1"),
    });
    assert.deepEqual(
      faults.map((fault) => fault.replace(/tag:.*/, "")),
      [
        "a.yaml:4:5: aliases are not supported; `defaults` sets members of all topics of a file",
        "b.yaml:2:1: a file has one document; remove the line ---",
        "c.yaml:1:1: the YAML version must be 1.2",
        "d.yaml:2:9: Unresolved ",
        "e.yaml:1:1: cannot be read: The encoded data was not valid for encoding utf-8",
      ],
    );
  });

  it("are never missing, and not too large", async () => {
    const large = join(folder.path, "large.yaml");
    writeFileSync(large, "");
    truncateSync(large, 17 * 1024 * 1024);
    symlinkSync("nowhere", join(folder.path, "broken.yaml"));
    for (const [path, reason] of [
      [large, /is larger than 16 MiB; split it, or write NDJSON/],
      [join(folder.path, "broken.yaml"), /cannot be read: ENOENT/],
      [join(folder.path, "a.txt"), /cannot be read: ENOENT/],
      [import.meta.filename, /the name must end with \.yaml/],
    ] as const) {
      const loaded = await loadTopicFiles([path], { root: folder.path, set: "noc" });
      assert.match("faults" in loaded ? (loaded.faults[0]?.message ?? "") : "", reason);
    }
    const { faults } = await load({ "sub/readme.md": "" }, ["sub"]);
    assert.match(faults[0] ?? "", /the folder has no files that end with/);
    assert.match((await load({ "a.yaml": "topics: []\n" })).faults[0] ?? "", /no file names its set/);
    assert.match(
      (await load({ "a.yaml": "topics: []\n" }, ["."], "a b")).faults[0] ?? "",
      /the name of a set must be/,
    );
  });
});

describe("the origin of a repository", () => {
  it("has no protocol, credentials or suffix", () => {
    for (const remote of [
      "https://user:secret@git.example.org/team/topics.git",
      "git@git.example.org:team/topics.git",
      "ssh://git@git.example.org/team/topics/",
      "https://git.example.org/team/topics",
    ])
      assert.equal(toRepositoryOrigin(remote), "git.example.org/team/topics");
    assert.equal(
      toRepositoryOrigin("ssh://git@git.example.org:2222/topics.git"),
      "git.example.org:2222/topics",
    );
  });
});
