import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import ts from "typescript";

/** A place in the sources that logs at warn, error or fatal. */
export interface LogLine {
  /** The file, from the top of the repository, and the code of the message. */
  readonly place: string;
  /**
   * What always stands in the line, in its order. Several where it may say one thing or another; none where nothing of it
   * stands in the code.
   */
  readonly texts: readonly (readonly string[])[];
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const levels = new Set(["warn", "error", "fatal"]);

/** Every place of the product that logs at warn and above, read from the sources. */
export function logLines(): LogLine[] {
  return globSync("{src,http,consumers}/**/*.ts", { cwd: root })
    .toSorted()
    .flatMap((file) => {
      const source = ts.createSourceFile(
        file,
        readFileSync(`${root}/${file}`, "utf8"),
        ts.ScriptTarget.Latest,
        true,
      );
      return nodesOf(source)
        .filter(ts.isCallExpression)
        .filter(logs)
        .map((call) => {
          const message = call.arguments.at(-1);
          if (message === undefined) throw new Error(`${file} logs nothing: ${call.getText()}`);
          return { place: `${file}: ${message.getText()}`, texts: textsOf(message) };
        });
    });
}

/** Calls of a logger: `log.warn(…)`, `connection.log.error(…)`, and with a level that is found out only then. */
function logs({ expression }: ts.CallExpression): boolean {
  if (ts.isPropertyAccessExpression(expression))
    return levels.has(expression.name.text) && isLogger(expression.expression);
  return ts.isElementAccessExpression(expression) && isLogger(expression.expression);
}

const isLogger = (expression: ts.Expression): boolean =>
  /(^|\.)(log|logger|lines|requestLog)$/.test(expression.getText());

function textsOf(message: ts.Expression): readonly (readonly string[])[] {
  if (ts.isStringLiteralLike(message)) return [[message.text]];
  if (ts.isTemplateExpression(message)) {
    const parts = [message.head.text, ...message.templateSpans.map(({ literal }) => literal.text)];
    const said = parts.map((part) => part.trim()).filter((part) => /\w/.test(part));
    return said.length === 0 ? [] : [said];
  }
  return ts.isIdentifier(message) ? assignedTo(message.text) : [];
}

/** The texts that are given to a member of this name, in whichever file. */
function assignedTo(name: string): readonly (readonly string[])[] {
  return globSync("{src,http,consumers}/**/*.ts", { cwd: root })
    .toSorted()
    .flatMap((file) => {
      const text = readFileSync(`${root}/${file}`, "utf8");
      return nodesOf(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
        .filter(ts.isPropertyAssignment)
        .filter((member) => member.name.getText() === name)
        .flatMap(({ initializer }) => (ts.isStringLiteralLike(initializer) ? [[initializer.text]] : []));
    });
}

function nodesOf(node: ts.Node): ts.Node[] {
  return [node, ...node.getChildren().flatMap(nodesOf)];
}
