import { newPasswordSchema, type NewPasswordBody } from "../../../schemas/user.ts";
import { createValidator } from "../../lib/validation.ts";

const checkNewPassword = createValidator<NewPasswordBody>(newPasswordSchema);

/**
 * Asks twice for a password that is to be set, or reads it from standard input when that is no terminal. Throws when it is
 * not what a new password must be.
 */
export async function askNewPassword(question: string): Promise<string> {
  const password = await passwordFrom(() => promptTwice(question));
  const checked = checkNewPassword({ password });
  if (checked.ok) return password;
  throw new Error(`the password ${checked.faults.map(({ message }) => message).join(" and ")}`);
}

/** Asks for a password, or reads it from standard input when that is no terminal. Throws when it is empty. */
export const askPassword = (question: string): Promise<string> => passwordFrom(() => prompt(question));

/** A password is never an argument: those can be seen by everybody on the machine. */
async function passwordFrom(ask: () => Promise<string>): Promise<string> {
  const password = process.stdin.isTTY ? await ask() : await firstLine(process.stdin);
  if (password === "") throw new Error("the password is empty");
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
  if (first !== (await prompt("The same again")))
    throw new Error("the two passwords differ; nothing was changed");
  return first;
}

async function firstLine(stream: NodeJS.ReadStream): Promise<string> {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += String(chunk);
  return text.split(/\r?\n/, 1)[0] ?? "";
}
