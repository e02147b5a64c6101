/** Asks on the terminal; no is the answer of whoever only presses return. */
export async function isConfirmed(message: string): Promise<boolean> {
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message, initialValue: false })) === true;
}
