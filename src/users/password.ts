import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/**
 * Cost of a new hash: 2^15 blocks of 8 × 128 bytes (32 MiB), three times over, the strength that OWASP's password
 * storage cheat sheet asks of scrypt. A stored hash carries its own cost, so that this can be raised later.
 */
const cost = { ln: 15, r: 8, p: 3 } as const;
const hashBytes = 32;

/** Hashes a password: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>` (the PHC string format, base64 without padding). */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Whether the password is the one that was hashed; false for a hash that is not of our form. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const parts = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored);
  if (parts === null) return false;
  const [, ln, r, p, salt = "", hash = ""] = parts;
  const expected = Buffer.from(hash, "base64");
  const actual = await derive(password, Buffer.from(salt, "base64"), {
    ln: Number(ln),
    r: Number(r),
    p: Number(p),
  });
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

function derive(
  password: string,
  salt: Buffer,
  { ln, r, p }: { ln: number; r: number; p: number },
): Promise<Buffer> {
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
