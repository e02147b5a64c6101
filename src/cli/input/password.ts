import { text } from "node:stream/consumers";

import { createValidator } from "@topicsync/lib/validation";
import { newPasswordSchema, type NewPasswordBody } from "../../../schemas/user.ts";

const checkNewPassword = createValidator<NewPasswordBody>(newPasswordSchema);

/**
 * Prompts twice for a new password, or reads it from standard input. Throws when it is not a valid password.
 */
export async function askNewPassword(question: string): Promise<string> {
  const password = await readPassword(() => promptTwice(question));
  const checked = checkNewPassword({ password });
  if (checked.ok) return password;
  throw new Error(`the password ${checked.faults.map(({ message }) => message).join(" and ")}`);
}

/** Prompts for a password, or reads it from standard input. Throws when it is empty. */
export const askPassword = (question: string): Promise<string> => readPassword(() => prompt(question));

/** Passwords are never arguments, which every user of the machine can see. */
async function readPassword(ask: () => Promise<string>): Promise<string> {
  const given = process.stdin.isTTY ? await ask() : await text(process.stdin);
  const [password = ""] = given.split(/\r?\n/, 1);
  if (password === "")
    throw new Error("the password is empty: type it in a terminal, or give it on standard input");
  return password;
}

async function prompt(question: string): Promise<string> {
  const { password, isCancel } = await import("@clack/prompts");
  const answer = await password({ message: question });
  if (isCancel(answer)) throw new Error("cancelled; nothing was changed");
  return answer;
}

async function promptTwice(question: string): Promise<string> {
  const first = await prompt(question);
  if (first !== (await prompt("Repeat the password")))
    throw new Error("the two passwords differ; nothing was changed");
  return first;
}
