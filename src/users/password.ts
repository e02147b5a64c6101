import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** Parameters of scrypt: N = 2^ln, block size, parallelism (computed sequentially here). */
interface Cost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/**
 * Cost of a hash: 2^15 blocks of 8 × 128 bytes (32 MiB), three times over, as OWASP's password storage cheat
 * sheet recommends for scrypt. Each stored hash names its cost, so this can be raised later.
 */
const cost: Cost = { ln: 15, r: 8, p: 3 };
const hashBytes = 32;
/** Bounds for stored hashes: a corrupt record must not block the service. */
const minLn = 10;
const maxWork = 16 * computeWork(cost);

interface Hash {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly bytes: Buffer;
}

/**
 * Hashes a password: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>` (the PHC string format, base64 without padding).
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, { cost, salt });
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${encode(salt)}$${encode(hash)}`;
}

/** Verified where there is no user, so that the response time does not tell which users exist. */
const dummyHash: Hash = { cost, salt: randomBytes(16), bytes: Buffer.alloc(hashBytes) };

/**
 * Whether the password is the one that was hashed. Takes as long as usual, and is false, for no hash or a
 * malformed one.
 */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parsed = stored === undefined ? undefined : parse(stored);
  const expected = parsed ?? dummyHash;
  const actual = await derive(password, expected);
  return (
    parsed !== undefined && actual.length === expected.bytes.length && timingSafeEqual(actual, expected.bytes)
  );
}

function parse(stored: string): Hash | undefined {
  const parts = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored);
  if (parts === null) return undefined;
  const [, ln, r, p, salt = "", hash = ""] = parts;
  const stated: Cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  if (stated.ln < minLn || stated.r < 1 || stated.p < 1 || computeWork(stated) > maxWork) return undefined;
  return { cost: stated, salt: Buffer.from(salt, "base64"), bytes: Buffer.from(hash, "base64") };
}

/** Returns the work of a hash in blocks of 128 bytes. */
function computeWork({ ln, r, p }: Cost): number {
  return 2 ** ln * r * p;
}

function derive(
  password: string,
  { cost: { ln, r, p }, salt }: Pick<Hash, "cost" | "salt">,
): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    // NFKC makes composed and decomposed letters equal (RFC 8265).
    scrypt(password.normalize("NFKC"), salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

const encode = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
