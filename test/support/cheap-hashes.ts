/**
 * Makes hashes of passwords cheap, in this process or, loaded with `--import`, in another one. A real hash
 * takes 0.3 s, and each service of the tests computes at least two. `unit/users/password.test.ts` tests real
 * ones.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/** The argument with which Node loads this module into another process. */
export const importCheapHashes = `--import=${import.meta.url}`;

const { scrypt } = crypto;

crypto.scrypt = ((password: string, salt: Buffer, length: number, _cost: unknown, done: () => void) => {
  scrypt(password, salt, length, { N: 2, r: 1, p: 1 }, done);
}) as typeof scrypt;
syncBuiltinESMExports();
