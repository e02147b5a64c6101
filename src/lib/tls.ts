import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

import { getErrorMessage } from "./errors.ts";

/** The files of a certificate and its key, as PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate with its chain, and its key: PEM texts. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Reads and checks the certificate and its key; returns the faults if they are unusable. */
export function readTlsPair(files: TlsFiles): TlsPair | { readonly faults: readonly string[] } {
  const faults: string[] = [];
  function read<T>(name: string, file: string, parse: (text: string) => T, what: string) {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      faults.push(`${name}: ${getErrorMessage(error)}`);
      return undefined;
    }
    try {
      return { text, parsed: parse(text) };
    } catch {
      // OpenSSL's message is of no use.
      faults.push(`${name}: ${file} contains no ${what}`);
      return undefined;
    }
  }
  const parseCert = (text: string) => new X509Certificate(text);
  const cert = read("HTTP_TLS_CERT", files.cert, parseCert, "certificate (PEM)");
  const key = read("HTTP_TLS_KEY", files.key, createPrivateKey, "private key (PEM, without a passphrase)");
  if (cert === undefined || key === undefined) return { faults };
  if (!cert.parsed.checkPrivateKey(key.parsed))
    return { faults: ["HTTP_TLS_KEY is not the key of the certificate in HTTP_TLS_CERT"] };
  const pair = { cert: cert.text, key: key.text };
  try {
    createSecureContext(pair);
  } catch (error) {
    return { faults: [`HTTP_TLS_CERT: rejected by OpenSSL: ${getErrorMessage(error)}`] };
  }
  return pair;
}
