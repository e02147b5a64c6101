import { generate } from "selfsigned";

/** A certificate and its key, PEM. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A private certificate authority. */
export interface Authority {
  readonly cert: string;
  /** Issues a certificate for servers on this machine and for clients; a passphrase encrypts the key. */
  issue(name: string, options?: { readonly passphrase?: string; readonly notAfter?: Date }): Promise<Pair>;
}

const curve = { keyType: "ec", algorithm: "sha256" } as const;

export async function createAuthority(name = "topicsync test authority"): Promise<Authority> {
  const { cert, private: key } = await generate([{ name: "commonName", value: name }], {
    ...curve,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, digitalSignature: true, critical: true },
    ],
  });
  return {
    cert,
    async issue(subject, { passphrase, notAfter } = {}) {
      const issued = await generate([{ name: "commonName", value: subject }], {
        ...curve,
        ca: { cert, key },
        ...(passphrase !== undefined && { passphrase }),
        ...(notAfter !== undefined && { notAfterDate: notAfter }),
        extensions: [
          { name: "basicConstraints", cA: false },
          { name: "keyUsage", digitalSignature: true, keyEncipherment: true },
          { name: "extKeyUsage", serverAuth: true, clientAuth: true },
          {
            name: "subjectAltName",
            altNames: [
              { type: 2, value: "localhost" },
              { type: 7, ip: "127.0.0.1" },
              { type: 7, ip: "::1" },
            ],
          },
        ],
      });
      return { cert: issued.cert, key: issued.private };
    },
  };
}
