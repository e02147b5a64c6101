import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from "node:zlib";

import { getErrorMessage, RejectionError } from "@topicsync/lib/errors";
import { parseStrictJson } from "@topicsync/lib/json";
import type { Handler } from "./context.ts";
import { HttpError } from "../../src/operations/framework/errors.ts";
import type { BodyRules } from "../../src/operations/framework/operation.ts";
import { expectsContinue, maxBodyBytes } from "./message.ts";
import { removeNullMembers } from "./null-members.ts";

const mediaType = "application/json";
/** By Content-Encoding. */
const decompressors: Readonly<Record<string, (body: Buffer, options: ZlibOptions) => Promise<Buffer>>> = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress),
};
/** Real ones have less than 50 characters. */
const maxContentTypeLength = 256;

/** How many bytes of bodies a process reads at the same time. */
const maxBytesRead = 64 * 1024 * 1024;

export interface BodyBudget {
  /** Returns false, and takes nothing, if fewer bytes are left. */
  take(bytes: number): boolean;
  release(bytes: number): void;
}

/**
 * Limits the memory for bodies that have begun to arrive. Bodies that never end give it back after the
 * server's `requestTimeout`.
 */
export function createBodyBudget(maxBytes = maxBytesRead): BodyBudget {
  let left = maxBytes;
  return {
    take(bytes) {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
    release(bytes) {
      left += bytes;
    },
  };
}

/** Creates the middleware that reads and validates a JSON body; `request.body` is a `Body` after it. */
export const readBody = <Body>(
  { schema, parse, check, wrongTypeStatus, maxBytes = maxBodyBytes }: BodyRules<Body>,
  budget: BodyBudget,
): Handler[] => [
  (request, response, next) => {
    checkHeaders(request.headers, { wrongTypeStatus, maxBytes });
    // The client gets to send the body only now that credentials and headers are checked.
    if (expectsContinue(request)) response.writeContinue();
    next();
  },
  readBytes(maxBytes, budget),
  (request, _response, next) => {
    const json = parseBody(request.body, parse);
    removeNullMembers(json, schema);
    const checked = check(json);
    if (!checked.ok)
      throw new RejectionError("SCHEMA_VIOLATION", "The body does not match the schema.", checked.faults);
    request.body = checked.value;
    next();
  },
];

function checkHeaders(
  headers: IncomingHttpHeaders,
  { wrongTypeStatus, maxBytes }: { readonly wrongTypeStatus: 400 | 415; readonly maxBytes: number },
): void {
  const { "content-type": contentType } = headers;
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
  const encoding = readEncoding(headers);
  if (encoding !== "identity" && !Object.hasOwn(decompressors, encoding)) {
    throw new HttpError("UNSUPPORTED_MEDIA_TYPE", `The Content-Encoding "${encoding}" is not supported.`, {
      detail: `Send the body uncompressed or compressed with ${Object.keys(decompressors).join(", ")}.`,
      status: wrongTypeStatus,
    });
  }
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw createTooLargeError(maxBytes);
}

/** Names of codings are case-insensitive, and x-gzip is gzip (RFC 9110, section 8.4.1). */
function readEncoding(headers: IncomingHttpHeaders): string {
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  return encoding === "x-gzip" ? "gzip" : encoding;
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

/**
 * Not express.json: it decodes as any charset that the client names, and takes an empty body for `{}`. Nor
 * express.raw: it reads an oversized chunked body, or one beyond the budget, to its end before it rejects it.
 */
function readBytes(maxBytes: number, budget: BodyBudget): Handler {
  return (request, response, next) => {
    const decompress = decompressors[readEncoding(request.headers)];
    const chunks: Buffer[] = [];
    let received = 0;
    let taken = 0;
    let isDone = false;
    const done = (error?: HttpError): void => {
      if (isDone) return;
      isDone = true;
      next(error);
    };
    const fail = (error: unknown): void => {
      done(toHttpError(error, maxBytes));
    };
    request
      .on("data", (chunk: Buffer) => {
        if (isDone) return;
        // How much a compressed body will take is not known before its end.
        const bytes = decompress === undefined ? chunk.length : received === 0 ? maxBytes : 0;
        received += chunk.length;
        if (received > maxBytes) done(createTooLargeError(maxBytes));
        else if (budget.take(bytes)) {
          taken += bytes;
          chunks.push(chunk);
        } else {
          response.setHeader("Connection", "close");
          done(createOverBudgetError());
        }
      })
      .once("end", () => {
        if (isDone) return;
        const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
        const setBody = (bytes = body): void => {
          request.body = bytes;
          done();
        };
        if (decompress === undefined || body === undefined || body.length === 0) setBody();
        else decompress(body, { maxOutputLength: maxBytes }).then(setBody, fail);
      })
      .once("error", fail)
      .once("close", () => {
        budget.release(taken);
      });
  };
}

/** The body was cut off, or cannot be decompressed. */
function toHttpError(error: unknown, maxBytes: number): HttpError {
  if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE")
    return createTooLargeError(maxBytes);
  return new HttpError("BAD_REQUEST", `The body could not be read: ${getErrorMessage(error)}`);
}

/** The value of a body; null if there is none. Throws an HttpError, and what a parser of its own throws. */
function parseBody(body: unknown, parse: (text: string) => unknown = parseStrictJson): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return null;
  try {
    if (!isUtf8(body)) throw new SyntaxError("it is not UTF-8");
    return parse(body.toString());
  } catch (error) {
    if (error instanceof RejectionError) throw error;
    throw new HttpError("MALFORMED_JSON", `The body is not valid JSON: ${getErrorMessage(error)}`);
  }
}

const createOverBudgetError = (): HttpError =>
  new HttpError("OVERLOADED", "Too many bodies are being read at the same time.", {
    detail: "Nothing was stored. Try again in a second.",
    headers: { "Retry-After": "1" },
  });

const createTooLargeError = (maxBytes: number): HttpError =>
  new HttpError("BODY_TOO_LARGE", `The body exceeds ${maxBytes} bytes.`);
