import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

import { getErrorMessage } from "../../src/lib/errors.ts";
import { HttpError } from "./errors.ts";
import { structureFault } from "./json-structure.ts";
import { maxBodyBytes } from "./unread.ts";

const mediaType = "application/json";

/** Refuses a body that does not say that it is JSON in UTF-8, that is compressed in a way unknown, or too large. */
export function checkBodyHeaders(headers: IncomingHttpHeaders, wrongTypeStatus: 400 | 415): void {
  const given = headers["content-type"];
  // What nearly everybody sends.
  if (given !== mediaType && !isJson(given)) {
    throw new HttpError(
      "UNSUPPORTED_MEDIA_TYPE",
      given === undefined
        ? "The request has no Content-Type."
        : `The Content-Type "${given}" is not supported.`,
      { detail: `Send JSON in UTF-8 with "Content-Type: ${mediaType}".`, status: wrongTypeStatus },
    );
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity" && !decompressors.has(encoding.toLowerCase())) {
    throw new HttpError("UNSUPPORTED_MEDIA_TYPE", `The Content-Encoding "${encoding}" is not supported.`, {
      detail: `Send it plain, or compressed with ${[...decompressors.keys()].join(", ")}.`,
      status: wrongTypeStatus,
    });
  }
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge();
}

/** JSON is UTF-8 (RFC 8259, section 8.1): another charset is another format. */
function isJson(contentType = ""): boolean {
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice("charset=".length);
  return type === mediaType && (charset === undefined || /^"?utf-?8"?$/.test(charset));
}

/**
 * Reads a JSON body of at most 100 kB whose headers are checked, also a compressed one; undefined when there is none.
 * Throws an HttpError.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const encoding = request.headers["content-encoding"];
  const decompress = encoding === undefined ? undefined : decompressors.get(encoding.toLowerCase());
  const sent = await readBytes(request);
  const bytes = decompress === undefined ? sent : await decompressed(sent, decompress);
  return bytes.length === 0 ? undefined : parse(bytes);
}

/** Not `request.toArray`: a body too large is refused as soon as that is known. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBodyBytes) chunks.push(chunk);
      else reject(tooLarge());
    });
    request.on("end", () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
    });
    request.on("error", (error) => {
      reject(unreadable(error));
    });
  });
}

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const decompressors: ReadonlyMap<string, Decompress> = new Map([
  ["gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["br", promisify(brotliDecompress)],
]);

async function decompressed(bytes: Buffer, decompress: Decompress): Promise<Buffer> {
  try {
    return await decompress(bytes, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    throw error instanceof RangeError ? tooLarge() : unreadable(error);
  }
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformed("it is not UTF-8");
  // A byte order mark is no JSON, but may be ignored (RFC 8259, section 8.1).
  const text = bytes.toString("utf8").replace(/^\uFEFF/u, "");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(getErrorMessage(error));
  }
  const fault = structureFault(text);
  if (fault !== undefined) throw malformed(fault);
  return value;
}

const malformed = (why: string): HttpError => new HttpError("MALFORMED_JSON", `The body is not JSON: ${why}`);

const tooLarge = (): HttpError =>
  new HttpError("BODY_TOO_LARGE", `The body has more than ${maxBodyBytes} bytes.`);

/** Cut off, or not decompressible. */
const unreadable = (error: unknown): HttpError =>
  new HttpError("BAD_REQUEST", `The body could not be read: ${getErrorMessage(error)}`);
