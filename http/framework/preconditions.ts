import { HttpError } from "./errors.ts";

/** The entity tag of a version. */
export const toEntityTag = (version: number): string => `"${version}"`;

/** Proxies that compress responses turn entity tags into weak ones. */
const entityTag = /^(?:W\/)?"(\d{1,15})"$/;

/**
 * Returns the version in an `If-Match` header, which operations demand that replace what the caller has read.
 * Throws an HttpError.
 */
export function readVersion(ifMatch: string | undefined): number {
  const detail = 'Send the version that you have read, such as If-Match: "3".';
  if (ifMatch === undefined)
    throw new HttpError("VERSION_REQUIRED", "The If-Match header is missing.", { detail });
  const [, version] = entityTag.exec(ifMatch) ?? [];
  if (version === undefined)
    throw new HttpError("BAD_REQUEST", "The If-Match header is not a version.", { detail });
  return Number(version);
}

/** The error for a version that is no longer the current one. */
export const createVersionError = (what: string): HttpError =>
  new HttpError("VERSION_CONFLICT", `${what} has another version than the If-Match header.`, {
    detail: "It was changed since you have read it; read it again.",
  });
