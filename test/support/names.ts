import { randomBytes } from "node:crypto";

/** A name that no other test uses. */
export const unique = (prefix: string): string => `${prefix}-${randomBytes(5).toString("hex")}`;
