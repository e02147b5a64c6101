import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** Parameters of scrypt: N = 2^ln, block size, parallelism (computed one after another here). */
export interface Cost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/**
 * Cost of a new hash: 2^15 blocks of 8 × 128 bytes (32 MiB), three times over, the strength that OWASP's password
 * storage cheat sheet asks of scrypt. A stored hash carries its own cost, so that this can be raised later.
 */
const cost: Cost = { ln: 15, r: 8, p: 3 };
const hashBytes = 32;
/** What is stored may be weaker or stronger than ours, within reason: a mistaken record must not stop the service. */
const smallestLn = 10;
const maxEffort = 16 * effortOf(cost);

/** Hashes a password: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>` (the PHC string format, base64 without padding). */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Whether the password is the one that was hashed; false for a hash that is not of our form. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const parsed = parse(stored);
  if (parsed === undefined) return false;
  const actual = await derive(password, parsed.salt, parsed.cost);
  return actual.length === parsed.hash.length && timingSafeEqual(actual, parsed.hash);
}

/** What computing a hash takes, in blocks of 128 bytes. */
export function effortOf({ ln, r, p }: Cost): number {
  return 2 ** ln * r * p;
}

/** What checking a password against a stored hash takes, without one: what `hashPassword` takes. */
export const effortToVerify = (stored: string | undefined): number =>
  effortOf((stored === undefined ? undefined : parse(stored)?.cost) ?? cost);

/**
 * What is to be computed besides the check of a stored hash, or instead of it where there is none, so that all of it
 * takes `effort`: from the time of an answer nobody can tell which users there are. Undefined: nothing.
 */
export function padding(stored: string | undefined, effort: number): Cost | undefined {
  const done = stored === undefined ? undefined : parse(stored)?.cost;
  const rest = effort - (done === undefined ? 0 : effortOf(done));
  // The time is proportional to p, so small blocks hit any effort well.
  const ln = Math.max(smallestLn, Math.min(done?.ln ?? cost.ln, cost.ln));
  const p = Math.round(rest / effortOf({ ln, r: cost.r, p: 1 }));
  return p > 0 ? { ln, r: cost.r, p } : undefined;
}

/** Computes a hash that nobody needs. */
export async function computePadding(password: string, padded: Cost): Promise<void> {
  await derive(password, paddingSalt, padded);
}

const paddingSalt = randomBytes(16);

interface Parsed {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

function parse(stored: string): Parsed | undefined {
  const parts = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored);
  if (parts === null) return undefined;
  const [, ln, r, p, salt = "", hash = ""] = parts;
  const its: Cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  const bearable = its.ln >= smallestLn && its.r >= 1 && its.p >= 1 && effortOf(its) <= maxEffort;
  if (!bearable) return undefined;
  return {
    cost: its,
    salt: Buffer.from(salt, "base64"),
    hash: Buffer.from(hash, "base64"),
  };
}

function derive(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    // Unicode has several ways to write "é"; NFKC makes them one, as RFC 8265 asks.
    scrypt(password.normalize("NFKC"), salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

const unpadded = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
