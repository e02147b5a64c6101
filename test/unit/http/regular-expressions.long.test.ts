/**
 * Requests come from strangers, so no regular expression that sees them may need more than a constant time
 * per character. Each is run on long texts of one repeated piece that it almost matches, the usual way to
 * make one backtrack.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import ts from "typescript";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What parses requests: our own code, and what Express and we use of others. */
const sources = [
  "{http,schemas}/**/*.ts",
  "src/{operations,users,topics,installations,dead-letters}/**/*.ts",
  "packages/lib/!(test)/*.ts",
  "packages/lib/*.ts",
  "packages/filters/{filter,patterns,implication,picker}/*.ts",
  "node_modules/{accepts,basic-auth,content-type,cookie,forwarded,media-typer,negotiator,parseurl,proxy-addr,type-is}/**/*.js",
];

interface Expression {
  readonly place: string;
  readonly expression: RegExp;
}

/** Finds the literals, and the patterns of schemas. */
function findExpressions(): Expression[] {
  return sources
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => statSync(`${root}/${file}`).isFile())
    .toSorted()
    .flatMap((file) => {
      const text = readFileSync(`${root}/${file}`, "utf8");
      const nodes = flattenNodes(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
      return [
        ...nodes.filter(ts.isRegularExpressionLiteral).map((literal) => parseLiteral(literal.text)),
        ...nodes
          .filter(ts.isPropertyAssignment)
          .filter(({ name }) => name.getText() === "pattern")
          .flatMap(({ initializer }) =>
            ts.isStringLiteralLike(initializer) ? [new RegExp(initializer.text, "u")] : [],
          ),
      ].map((expression) => ({ place: `${file}: ${String(expression)}`, expression }));
    });
}

const flattenNodes = (node: ts.Node): ts.Node[] => [node, ...node.getChildren().flatMap(flattenNodes)];

function parseLiteral(text: string): RegExp {
  const end = text.lastIndexOf("/");
  return new RegExp(text.slice(1, end), text.slice(end + 1).replaceAll(/[gy]/g, ""));
}

const common = Array.from(" \t\n;,:./\\\"'%=a0A_-~");

/** Characters of the expression itself, and some of each usual class, alone and in pairs. */
function findPieces({ source }: RegExp): string[] {
  const own = new Set([...Array.from(source.replaceAll(/\\[A-Za-z]/g, "")), ...common]);
  const pairs = common.flatMap((one) =>
    [...own].filter((other) => other !== one).map((other) => one + other),
  );
  return [...own, ...pairs];
}

/** What an anchored expression expects first: `bearer ` of `^bearer +(\S+)`. */
const findPrefix = ({ source }: RegExp): string =>
  /^\^([\w =:;,-]*(?![*+?{])[\w =:;,-](?![*+?{]))/.exec(source)?.[1] ?? "\u0001";

const shortLength = 300;
const factor = 32;

/**
 * How much more a character of a long text costs than one of a short text: about 1, and about `factor` if the
 * cost is quadratic. The time of the processor, since other programs use it as well, and the least of several
 * measurements of each.
 */
function measureGrowth({ expression }: Expression, make: (length: number) => string): number {
  const [short, long] = [make(shortLength), make(factor * shortLength)];
  let [shortTime, longTime] = [Infinity, Infinity];
  for (let round = 1; round <= 5; round += 1) {
    shortTime = Math.min(
      shortTime,
      measureTime(() => {
        for (let i = 0; i < factor; i += 1) expression.test(short);
      }),
    );
    longTime = Math.min(
      longTime,
      measureTime(() => expression.test(long)),
    );
    if (round > 1 && longTime / shortTime <= maxGrowth) break;
  }
  return longTime / shortTime;
}

/**
 * What is measured below it is the machine. At a quadratic cost even the short texts take several times as
 * long.
 */
const measurableUs = 100;

/** Microseconds that this process computed, at least those that can be measured. */
function measureTime(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return Math.max(measurableUs, user + system);
}

const maxGrowth = factor / 3;

function findSlowText(one: Expression): string | undefined {
  const prefix = findPrefix(one.expression);
  for (const piece of findPieces(one.expression)) {
    const make = (length: number): string => `${prefix}${piece.repeat(length / piece.length)}\u0001`;
    if (measureGrowth(one, make) > maxGrowth) return JSON.stringify(prefix + piece);
  }
  return undefined;
}

describe("a regular expression that sees requests", () => {
  const found = findExpressions();

  it("needs a time in proportion to the text", () => {
    assert.ok(found.length > 50, "few were found");
    const slow = found.flatMap((one) => {
      const text = findSlowText(one);
      return text === undefined ? [] : [`${one.place} on ${text} repeated`];
    });
    assert.deepEqual(slow, []);
  });

  for (const expression of [/\s*;\s*/, /^\s+|\s+$/u, /^charset=\s*\s*$/, /0+$/u]) {
    it(`is found otherwise: ${String(expression)}`, () => {
      assert.notEqual(findSlowText({ place: "", expression }), undefined);
    });
  }
});
