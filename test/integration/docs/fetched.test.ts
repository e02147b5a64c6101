/** What is fetched from other machines is what docs/deployment.md lists. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { kafkaVersion, log4jVersion, mavenDependencyPlugin } from "@topicsync/embedded";
import { settingsSchema } from "../../../schemas/settings.ts";
import { root } from "./pages.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");
const collect = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, found = ""]) => found);

/** The first column of the table. */
const listed = (): string[] => {
  const [, section = ""] = /^## Without Internet access\n([^]*?)^## /m.exec(read("docs/deployment.md")) ?? [];
  return collect(section, /^\| ([^|]*) \|/gm).flatMap((cell) => collect(cell, /`([^`]+)`/g));
};

describe("the list of what is fetched", () => {
  it("has every image and package", () => {
    const { TOPICSYNC_KAFKA_IMAGE, TOPICSYNC_MONGO_IMAGE } = settingsSchema.properties;
    const images = [
      ...collect(read("Dockerfile"), /^ARG \w+=(.*)$/gm),
      ...collect(read("docker-compose.yml"), /image: "\$\{\w+:-(.*)\}"$/gm),
      ...collect(read("examples/docker-compose.yml"), /(?:image: "|FROM )\$\{\w+:-(.*?)\}"?$/gm),
      ...[TOPICSYNC_KAFKA_IMAGE.default, TOPICSYNC_MONGO_IMAGE.default],
    ];
    const jars = collect(
      read("packages/embedded/kafka-jars.ts"),
      /<dependency>\s*(<groupId>\S+\s*<artifactId>\S+)/g,
    ).map((dependency) => {
      const [group = "", artifact = ""] = collect(dependency, />([\w.-]+)</g);
      return `${group}:${artifact}:${group === "org.apache.kafka" ? kafkaVersion : log4jVersion}`;
    });
    assert.equal(jars.length, 3);
    const published = listed().filter((name) => /ghcr\.io\//.test(name));
    assert.equal(published.length, 2);
    assert.deepEqual(
      new Set(listed()),
      new Set([
        ...[...images, ...published, ...jars, mavenDependencyPlugin],
        ...["topicsync", "npm-shrinkwrap.json", "packages/embedded/secantusdb.txt"],
      ]),
    );
  });

  it("is complete: no image is built from, and no command of the image fetches, anything else", () => {
    const dockerfile = read("Dockerfile");
    const stages = collect(dockerfile, /^FROM (.*?)(?: AS \w+)?$/gm);
    assert.deepEqual(new Set(stages), new Set(["${NODE_IMAGE}", "${BASE_IMAGE}"]));
    assert.doesNotMatch(dockerfile, /\b(?:curl|wget|apt-get|apk|git clone|ADD http)/);
    assert.deepEqual(
      new Set(collect(dockerfile, /\b(npm (?:ci|install|i|exec)\b.*)/g).map((command) => command.trim())),
      new Set(["npm ci --omit=dev --ignore-scripts --workspaces=false \\", "npm ci --ignore-scripts"]),
    );
  });

  it("has no address of another machine in the program or the console", () => {
    const files = globSync("{packages,src,http,consumers,schemas,console}/**/*.{ts,tsx,html,css}", {
      cwd: root,
      exclude: ["packages/*/test/**"],
    });
    const addresses = files.flatMap((file) =>
      read(file)
        .split("\n")
        .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
        .flatMap((line) => collect(line, /\bhttps?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)/gi))
        .map((host) => `${host} in ${file}`),
    );
    // Names that nothing is requested from: of schemas, of links, and of examples.
    const names =
      /^(?:127\.0\.0\.1|json-schema\.org|www\.w3\.org|maven\.apache\.org|(?:\S+\.)?example\.(?:org|com)) /;
    assert.deepEqual(
      addresses.filter((address) => !names.test(address)),
      [],
    );
  });
});
