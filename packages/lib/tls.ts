import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
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
  const cert = readPem(
    { setting: "HTTP_TLS_CERT", file: files.cert },
    parseCertificates,
    certificate,
    faults,
  );
  const key = readPem(
    { setting: "HTTP_TLS_KEY", file: files.key },
    createPrivateKey,
    "private key (PEM, without a passphrase)",
    faults,
  );
  if (cert === undefined || key === undefined) return { faults };
  if (cert.parsed[0]?.checkPrivateKey(key.parsed) !== true)
    return { faults: ["HTTP_TLS_KEY is not the key of the certificate in HTTP_TLS_CERT"] };
  const pair = { cert: cert.text, key: key.text };
  try {
    createSecureContext(pair);
  } catch (error) {
    return { faults: [`HTTP_TLS_CERT: rejected by OpenSSL: ${getErrorMessage(error)}`] };
  }
  return pair;
}

/** A file and the setting that names it. */
export interface NamedFile {
  readonly setting: string;
  readonly file: string;
}

/** What a client trusts, and how it identifies itself: PEM texts. */
export interface ClientTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
}

/** The files of a client's TLS, as PEM. The key belongs to the certificate. */
export type ClientTlsFiles = Readonly<Partial<Record<"ca" | "cert" | "key", NamedFile>>>;

/** Reads and checks the files; adds what is wrong to `faults`. */
export function readClientTls(
  { ca, cert, key }: ClientTlsFiles,
  passphrase: { readonly setting: string; readonly value: string | undefined },
  faults: string[],
): ClientTls {
  const authorities = ca && readPem(ca, parseCertificates, certificate, faults);
  const certificates = cert && readPem(cert, parseCertificates, certificate, faults);
  const privateKey = key && readKey(key, passphrase, faults);
  if (
    certificates !== undefined &&
    privateKey !== undefined &&
    certificates.parsed[0]?.checkPrivateKey(privateKey.parsed) !== true
  )
    faults.push(`${key?.setting ?? ""} is not the key of the certificate in ${cert?.setting ?? ""}`);
  return {
    ...(authorities && { ca: authorities.text }),
    ...(certificates && { cert: certificates.text }),
    ...(privateKey && { key: privateKey.text }),
    ...(passphrase.value !== undefined && { passphrase: passphrase.value }),
  };
}

const certificate = "certificate (PEM)";

function readPem<T>(
  { setting, file }: NamedFile,
  parse: (text: string) => T,
  what: string,
  faults: string[],
): { readonly text: string; readonly parsed: T } | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    faults.push(`${setting}: ${getErrorMessage(error)}`);
    return undefined;
  }
  try {
    return { text, parsed: parse(text) };
  } catch {
    // OpenSSL's message is of no use.
    faults.push(`${setting}: ${file} contains no ${what}, or only a part of one`);
    return undefined;
  }
}

function readKey(
  named: NamedFile,
  { setting, value }: { readonly setting: string; readonly value: string | undefined },
  faults: string[],
) {
  let why: string | undefined;
  function parse(text: string): KeyObject {
    try {
      return createPrivateKey({ key: text, ...(value !== undefined && { passphrase: value }) });
    } catch (error) {
      const isEncrypted = /-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text);
      if (isEncrypted)
        why =
          value === undefined
            ? `${named.setting}: the key is encrypted, set ${setting}`
            : `${setting} is not the passphrase of ${named.setting}`;
      throw error;
    }
  }
  const own: string[] = [];
  const key = readPem(named, parse, "private key (PEM)", own);
  faults.push(...(why === undefined ? own : [why]));
  return key;
}

/** Parses all certificates of a PEM text. Throws if there is none, or one is incomplete. */
export function parseCertificates(text: string): X509Certificate[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const begun = text.split("-----BEGIN CERTIFICATE-----").length - 1;
  if (found.length === 0 || found.length !== begun) throw new Error("no complete certificate");
  return found.map((one) => new X509Certificate(one));
}

/** When the certificates of a PEM text expire, in milliseconds since 1970. Throws if there is none. */
export const findExpiries = (text: string): number[] =>
  parseCertificates(text).map(({ validTo }) => Date.parse(validTo));
