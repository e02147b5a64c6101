import type { Command } from "commander";

export interface ConfirmFlags {
  readonly yes?: true;
  readonly dryRun?: true;
}

/** Ends a command that would have to ask, where nobody can respond. */
export function requireTerminal(command: Command, { yes, dryRun }: ConfirmFlags): void {
  if (!yes && !dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
    command.error("error: no terminal to ask for confirmation: use --yes or --dry-run");
}

/** Asks on the terminal; the default is no. */
export async function isConfirmed(message: string): Promise<boolean> {
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message, initialValue: false })) === true;
}
