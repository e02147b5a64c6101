import { generate } from "selfsigned";

/** A self-signed certificate for 127.0.0.1, and its key. */
export async function createCertificate(): Promise<{ readonly cert: string; readonly key: string }> {
  const { cert, private: key } = await generate([{ name: "commonName", value: "topicsync test" }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
  });
  return { cert, key };
}
