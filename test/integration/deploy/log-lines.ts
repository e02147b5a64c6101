import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import ts from "typescript";

/** A place in the sources that logs at warn, error or fatal. */
export interface LogLine {
  /** The file, relative to the repository, and the code of the message. */
  readonly place: string;
  /**
   * The constant parts of the message, in order: several alternatives, or none if nothing of it is constant.
   */
  readonly texts: readonly (readonly string[])[];
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const levels = new Set(["warn", "error", "fatal"]);
const texts = globSync("{packages,src,http,consumers}/**/*.ts", {
  cwd: root,
  exclude: ["packages/*/test/**"],
})
  .toSorted()
  .map((file) => ({ file, text: readFileSync(`${root}/${file}`, "utf8") }));

/** The nodes of each source whose text matches. */
function parse(pattern: RegExp): { readonly file: string; readonly nodes: readonly ts.Node[] }[] {
  return texts
    .filter(({ text }) => pattern.test(text))
    .map(({ file, text }) => ({
      file,
      nodes: flattenNodes(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)),
    }));
}

/** Finds every place in the sources that logs at warn and above. */
export const findLogLines = (): LogLine[] =>
  parse(/\b(log|logger|lines|requestLog)\b/).flatMap(({ file, nodes }) =>
    nodes
      .filter(ts.isCallExpression)
      .filter(isLogCall)
      .map((call) => {
        const message = call.arguments.at(-1);
        if (message === undefined) throw new Error(`${file} logs nothing: ${call.getText()}`);
        return { place: `${file}: ${message.getText()}`, texts: parseMessage(message) };
      }),
  );

/** Whether it calls a logger: `log.warn(…)`, `connection.log.error(…)`, or with a computed level. */
function isLogCall({ expression }: ts.CallExpression): boolean {
  if (ts.isPropertyAccessExpression(expression))
    return levels.has(expression.name.text) && isLogger(expression.expression);
  return ts.isElementAccessExpression(expression) && isLogger(expression.expression);
}

const isLogger = (expression: ts.Expression): boolean =>
  /(^|[.#])(log|logger|lines|requestLog)$/.test(expression.getText());

function parseMessage(message: ts.Expression): readonly (readonly string[])[] {
  if (ts.isStringLiteralLike(message)) return [[message.text]];
  if (ts.isTemplateExpression(message)) {
    const parts = [message.head.text, ...message.templateSpans.map(({ literal }) => literal.text)];
    const constant = parts.map((part) => part.trim()).filter((part) => /\w/.test(part));
    return constant.length === 0 ? [] : [constant];
  }
  return ts.isIdentifier(message) ? findAssignedTexts(message.text) : [];
}

/** Finds the texts assigned to members of this name, in any file. */
function findAssignedTexts(name: string): readonly (readonly string[])[] {
  return parse(new RegExp(`\\b${name}\\b`)).flatMap(({ nodes }) =>
    nodes
      .filter(ts.isPropertyAssignment)
      .filter((member) => member.name.getText() === name)
      .flatMap(({ initializer }) => (ts.isStringLiteralLike(initializer) ? [[initializer.text]] : [])),
  );
}

function flattenNodes(node: ts.Node): ts.Node[] {
  const nodes = [node];
  ts.forEachChild(node, (child) => {
    nodes.push(...flattenNodes(child));
  });
  return nodes;
}
