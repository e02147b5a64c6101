import { NameTakenError } from "../../src/lib/errors.ts";
import { HttpError } from "./errors.ts";

/** Gives what was found by the name in a path. Throws an HttpError when there was nothing. */
export function found<T>(one: T | undefined, what: string, name: string): T {
  if (one !== undefined) return one;
  throw new HttpError("NOT_FOUND", `There is no ${what} named "${name}".`);
}

/** Gives what was added. Throws an HttpError when the name is taken. */
export async function added<T>(adding: Promise<T>, name: string): Promise<T> {
  try {
    return await adding;
  } catch (error) {
    if (!(error instanceof NameTakenError)) throw error;
    throw new HttpError("NAME_TAKEN", `There is one named "${name}" already.`, {
      detail: "Choose another name; a disabled one can be enabled again.",
    });
  }
}
