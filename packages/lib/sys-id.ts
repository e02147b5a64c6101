import { fillRandom } from "./platform.ts";

/** Random bytes for the next 256 ids: one call for many ids is several times faster than one call each. */
const randomBytes = Buffer.alloc(256 * 16);
let used = randomBytes.length;

/** Returns a new sys_id: 32 lower-case hexadecimal digits, 128 random bits. */
export function newId(): string {
  if (used === randomBytes.length) {
    fillRandom(randomBytes);
    used = 0;
  }
  used += 16;
  return randomBytes.toString("hex", used - 16, used);
}

export const isSysId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

/** Makes the next ids depend on the platform only, not on ids that were created before. For simulations. */
export function dropUnusedBytes(): void {
  used = randomBytes.length;
}
