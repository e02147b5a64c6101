import express from "express";
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";

import { getErrorMessage, RejectionError } from "../../src/lib/errors.ts";
import type { Handler } from "./context.ts";
import { HttpError } from "./errors.ts";
import type { BodyRules } from "./operation.ts";
import { expectsContinue, maxBodyBytes } from "./message.ts";

const mediaType = "application/json";
const encodings = ["gzip", "deflate", "br"];
/** Real ones have less than 50 characters. */
const maxContentTypeLength = 256;

/** Creates the middleware that reads and validates a JSON body; `request.body` is a `Body` after it. */
export const readBody = <Body>({ check, wrongTypeStatus }: BodyRules<Body>): Handler[] => [
  (request, response, next) => {
    checkHeaders(request.headers, wrongTypeStatus);
    // The client gets to send the body only now that credentials and headers are checked.
    if (expectsContinue(request)) response.writeContinue();
    next();
  },
  readBytes,
  (request, _response, next) => {
    const checked = check(parseJson(request.body));
    if (!checked.ok)
      throw new RejectionError("SCHEMA_VIOLATION", "The body does not match the schema.", checked.faults);
    request.body = checked.value;
    next();
  },
];

function checkHeaders(headers: IncomingHttpHeaders, wrongTypeStatus: 400 | 415): void {
  const { "content-type": contentType, "content-encoding": encoding = "identity" } = headers;
  if (contentType !== undefined && contentType.length > maxContentTypeLength) {
    const message = `The Content-Type exceeds ${maxContentTypeLength} characters.`;
    throw new HttpError("UNSUPPORTED_MEDIA_TYPE", message, { status: wrongTypeStatus });
  }
  if (contentType !== mediaType && !isJson(contentType)) {
    const message =
      contentType === undefined
        ? "The Content-Type header is missing."
        : `The Content-Type "${contentType}" is not supported.`;
    const detail = `Send JSON in UTF-8 with "Content-Type: ${mediaType}".`;
    throw new HttpError("UNSUPPORTED_MEDIA_TYPE", message, { detail, status: wrongTypeStatus });
  }
  if (encoding !== "identity" && !encodings.includes(encoding.toLowerCase())) {
    throw new HttpError("UNSUPPORTED_MEDIA_TYPE", `The Content-Encoding "${encoding}" is not supported.`, {
      detail: `Send the body uncompressed or compressed with ${encodings.join(", ")}.`,
      status: wrongTypeStatus,
    });
  }
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge();
}

/** JSON is always UTF-8 (RFC 8259, section 8.1). */
function isJson(contentType = ""): boolean {
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="));
  return type === mediaType && (charset === undefined || /^charset="?utf-?8"?$/.test(charset));
}

/** Not express.json: it decodes as any charset that the client names, and takes an empty body for `{}`. */
const readWhole: Handler = express.raw({ limit: maxBodyBytes, type: () => true });

/**
 * express.raw, except that an oversized chunked body is rejected at once: express.raw would first read it to
 * its end.
 */
const readBytes: Handler = (request, response, next) => {
  let isDone = false;
  const done = (error?: unknown): void => {
    if (isDone) return;
    isDone = true;
    if (error === undefined) next();
    else next(toHttpError(error));
  };
  if (request.headers["transfer-encoding"] !== undefined) {
    let received = 0;
    request.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received > maxBodyBytes) done(tooLarge());
    });
  }
  readWhole(request, response, done);
};

/** Errors of body-parser have a `type`. */
function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Error && "type" in error && error.type === "entity.too.large") return tooLarge();
  // Truncated, or not decompressible.
  return new HttpError("BAD_REQUEST", `The body could not be read: ${getErrorMessage(error)}`);
}

/** The value of a body; null if there is none. Throws an HttpError. */
function parseJson(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return null;
  try {
    if (!isUtf8(body)) throw new SyntaxError("it is not UTF-8");
    // A byte order mark may be ignored (RFC 8259, section 8.1).
    const json = body.toString().replace(/^\uFEFF/u, "");
    const fault = findStructureFault(json);
    if (fault !== undefined) throw new SyntaxError(fault);
    return JSON.parse(json);
  } catch (error) {
    throw new HttpError("MALFORMED_JSON", `The body is not valid JSON: ${getErrorMessage(error)}`);
  }
}

const tooLarge = (): HttpError => new HttpError("BODY_TOO_LARGE", `The body exceeds ${maxBodyBytes} bytes.`);

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** Code that walks parsed values recurses as deep. */
const maxDepth = 100;

/**
 * What makes a JSON text ambiguous although JSON.parse accepts it: a duplicate member (RFC 8259, section 4)
 * or excessive nesting (section 9). Undefined if nothing does. A text that is no JSON at all is left to
 * JSON.parse.
 */
function findStructureFault(json: string): string | undefined {
  /** Member names of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (code === quote) {
      const end = findStringEnd(json, i);
      const names = open.at(-1);
      if (names !== undefined && isMemberName(json, end)) {
        const name = parseName(json.slice(i, end + 1));
        if (names.has(name)) return `duplicate member ${JSON.stringify(name)}`;
        names.add(name);
      }
      i = end;
    } else if (code === openBrace || code === openBracket) {
      if (open.push(code === openBrace ? new Set() : undefined) > maxDepth)
        return `nested deeper than ${maxDepth} levels`;
    } else if (code === closeBrace || code === closeBracket) open.pop();
  }
  return undefined;
}

/** Index of the closing quote of the string that starts at `start`, or the text's length. */
function findStringEnd(json: string, start: number): number {
  let i = start + 1;
  while (i < json.length && json.charCodeAt(i) !== quote) i += json.charCodeAt(i) === backslash ? 2 : 1;
  return i;
}

/** Only the name of a member is followed by a colon. */
function isMemberName(json: string, end: number): boolean {
  let i = end + 1;
  // Space, tab, line feed and carriage return are JSON's only white space.
  while (json.charCodeAt(i) <= 0x20) i += 1;
  return json.charCodeAt(i) === colon;
}

/** Names may be spelt with escapes. An invalid escape throws, as in JSON.parse. */
const parseName = (quoted: string): string =>
  quoted.includes("\\") ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
