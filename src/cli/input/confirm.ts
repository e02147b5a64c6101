/** Asks on the terminal; the default is no. */
export async function isConfirmed(message: string): Promise<boolean> {
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message, initialValue: false })) === true;
}
