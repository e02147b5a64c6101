import { HttpError } from "./errors.ts";
import type { Call } from "./operation.ts";

/** A version as a strong entity tag, or any version (RFC 9110, section 13.1.1). */
export const ifMatchPattern = /^(?:"(?:0|[1-9][0-9]{0,14})"|\*)$/;

/** The entity tag of a version. */
export const toEtag = (version: number): string => `"${version}"`;

/** An entity tag, strong or weak (RFC 9110, section 8.8.3). */
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** The version in the `If-Match` header; undefined for any version, or without the header. */
export function parseIfMatch({ ifMatch }: Pick<Call, "ifMatch">): number | undefined {
  if (ifMatch === "" || ifMatch === "*") return undefined;
  if (ifMatchPattern.test(ifMatch)) return Number(ifMatch.slice(1, -1));
  if (entityTag.test(ifMatch)) {
    throw new HttpError("VERSION_CONFLICT", `No version has the entity tag ${ifMatch}.`, {
      detail:
        'A proxy that compresses responses may have changed the ETag, for example to W/"3" or "3-gzip". Send the number alone, such as If-Match: "3".',
    });
  }
  throw new HttpError("BAD_REQUEST", "The If-Match header is not an entity tag of this API.", {
    detail: 'Send the ETag that was read, such as If-Match: "3".',
  });
}

/** The same; throws an HttpError without the header. */
export function requireIfMatch(call: Pick<Call, "ifMatch">): number | undefined {
  if (call.ifMatch !== "") return parseIfMatch(call);
  throw new HttpError("VERSION_REQUIRED", "The If-Match header is missing.", {
    detail:
      'Send the ETag of the version that is to be changed, such as If-Match: "3". If-Match: * changes any version.',
  });
}
