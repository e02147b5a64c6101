import type { Command } from "commander";

import { exitCodes, getErrorMessage } from "@topicsync/lib/errors";
import { readConfig, readEnvironment } from "../../config/config.ts";
import { keyPrefix } from "../../users/key.ts";
import { InvalidTokenError, showClaim, toSentence } from "../../users/openid.ts";
import type { explainToken } from "../../users/token-explanation.ts";
import { showTime } from "../../users/token-findings.ts";
import { readTextFile } from "../input/files.ts";
import { openOutput, printError, printJson, printLine, sanitize } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";

type TokenExplanation = Awaited<ReturnType<typeof explainToken>>;

interface Flags {
  readonly json?: true;
}

export function defineToken(token: Command): void {
  token
    .command("explain")
    .description(
      "show the claims of a bearer token, which of them are wrong or missing for the settings, and what to set",
    )
    .argument("[file]", "file with the token; by default it is read from standard input", "-")
    .option("--json", "print JSON")
    .action(explain);
}

async function explain(file: string, { json }: Flags): Promise<void> {
  const token = await readToken(file);
  const { oidc } = readConfig(readEnvironment(process.env));
  // Slow to load, and no other command needs it.
  const { explainToken } = await import("../../users/token-explanation.ts");
  try {
    const explained = await explainToken(token, oidc);
    const { accepted } = explained;
    if (accepted !== true) process.exitCode = accepted === null ? exitCodes.unavailable : exitCodes.rejected;
    if (json) printJson(explained);
    else await print(explained);
  } catch (error) {
    if (!(error instanceof InvalidTokenError)) throw error;
    process.exitCode = exitCodes.rejected;
    printError(`${toSentence(getErrorMessage(error))} ${adviseOnForm(token)}`);
  }
}

/** Reads a token, with or without `Bearer`. The argument may be a token by mistake: no error repeats it. */
async function readToken(file: string): Promise<string> {
  if (file === "-" && process.stdin.isTTY) printError("Paste the token, then press Enter and Ctrl-D.");
  const text = await readTextFile(file).catch((error: unknown) => {
    const { code } = (error as { readonly cause: NodeJS.ErrnoException }).cause;
    throw new Error(
      `cannot read the file (${code}). A token is no argument, which every user of the machine sees: give it on standard input.`,
    );
  });
  return text.replace(/^\s*(?:authorization: *)?bearer +/i, "").replaceAll(/\s/g, "");
}

function adviseOnForm(token: string): string {
  if (token === "") return "There is nothing to read.";
  if (token.startsWith(keyPrefix)) return "It is an API key of topicsync: see `topicsync keys list`.";
  const parts = token.split(".").length;
  if (parts === 5) return "It is encrypted: let the provider send signed tokens.";
  if (parts === 3) return "It may be cut off.";
  return "Some providers send opaque tokens unless the client asks for an audience. Send a JWT, or the ID token.";
}

async function print(explained: TokenExplanation): Promise<void> {
  const { provider, header, claims, signature, reason, findings } = explained;
  const table = await createTableWriter(openOutput(), [{ head: "claim" }, { head: "value" }]);
  for (const [name, value] of Object.entries(header))
    await table.add([`(${name})`, sanitize(showClaim(value))]);
  for (const [name, value] of Object.entries(claims))
    await table.add([name.slice(0, 100), showValue(name, value)].map(sanitize));
  await table.end();
  const lines = [
    ...(provider === null ? [] : [`It looks like a token of ${provider}.`]),
    `The signature is ${signature}${reason === "" ? "" : `: ${reason}`}.`,
    ...findings.map(({ message, advice }) => `- ${toSentence(message)} ${advice}`.trim()),
    describeOutcome(explained),
  ];
  printLine(`\n${lines.map(sanitize).join("\n")}`);
}

const showValue = (name: string, value: unknown): string =>
  ["exp", "nbf", "iat", "auth_time"].includes(name) && typeof value === "number"
    ? `${value} (${showTime(value)})`
    : showClaim(value);

function describeOutcome({ accepted, user }: TokenExplanation): string {
  if (user !== null)
    return `The service accepts it: ${user.name} has ${user.roles.length === 0 ? "no rights" : user.roles.join(", ")}.`;
  return accepted === null ? "The service accepts it if the signature is valid." : "The service rejects it.";
}
