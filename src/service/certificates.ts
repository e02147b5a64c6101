import { readFileSync, statSync, type Stats } from "node:fs";

import type { Lifecycle } from "@topicsync/lib/lifecycle";
import type { Logger } from "@topicsync/lib/logger";
import { repeat } from "@topicsync/lib/platform";
import { Rotated } from "@topicsync/lib/concurrency/rotated";
import { findExpiries, readTlsPair, type NamedFile, type TlsFiles, type TlsPair } from "@topicsync/lib/tls";
import type { HttpServer } from "../../http/framework/server.ts";
import type { Config } from "../config/config.ts";
import { listTlsFiles } from "../storage/database/client-options.ts";

interface Certificate {
  readonly setting: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

interface CertificateFile extends NamedFile {
  /** A bundle, in which former authorities may stay. A chain is valid until its first certificate expires. */
  readonly isAuthority: boolean;
}

type CertificateConfig = Pick<Config, "http" | "kafka" | "mongodbUri">;

/**
 * Returns a function that returns the certificates in the files of the settings as they are now. A file is
 * read when it has changed. Files that cannot be read are left out.
 */
export function watchCertificates(config: CertificateConfig): () => Certificate[] {
  const files = listCertificateFiles(config);
  const known = new Map<string, { readonly version: string; readonly expiresAt: number }>();
  return () =>
    files.flatMap(({ setting, file, isAuthority }) => {
      try {
        const version = getVersion(statSync(file));
        let found = known.get(setting);
        if (found?.version !== version) {
          const all = findExpiries(readFileSync(file, "utf8"));
          found = { version, expiresAt: isAuthority ? Math.max(...all) : Math.min(...all) };
          known.set(setting, found);
        }
        return [{ setting, expiresAt: found.expiresAt }];
      } catch {
        return [];
      }
    });
}

/** Changes with the content of a file, also where a link is replaced. */
const getVersion = ({ dev, ino, mtimeMs, size }: Stats): string => `${dev}-${ino}-${mtimeMs}-${size}`;

function listCertificateFiles({ http, kafka, mongodbUri }: CertificateConfig): readonly CertificateFile[] {
  const { ca, cert } = kafka.tls?.files ?? {};
  const ofMongodb = mongodbUri === undefined ? [] : listTlsFiles(mongodbUri);
  return [
    ...(http.tls ? [{ setting: "HTTP_TLS_CERT", file: http.tls.files.cert, isAuthority: false }] : []),
    ...(ca ? [{ ...ca, isAuthority: true }] : []),
    ...(cert ? [{ ...cert, isAuthority: false }] : []),
    ...ofMongodb.map(({ option, file, isAuthority }) => ({
      setting: `MONGODB_URI ${option}`,
      file,
      isAuthority,
    })),
  ];
}

const pollIntervalMs = 10_000;

/** Serves the certificate that is in the files, until the service stops. */
export function followCertificate(
  servers: readonly HttpServer[],
  { files, cert, key }: TlsPair & { readonly files: TlsFiles },
  { lifecycle, log }: { readonly lifecycle: Lifecycle; readonly log: Logger },
): void {
  const read = (): TlsPair => {
    const pair = readTlsPair(files);
    if ("cert" in pair) return pair;
    throw new Error(pair.faults.join("; "));
  };
  const setting = "HTTP_TLS_CERT, HTTP_TLS_KEY";
  const rotated = new Rotated({ setting, initial: { cert, key }, read, log });
  let served = rotated.get();
  const stop = repeat(pollIntervalMs, () => {
    const pair = rotated.get();
    if (pair !== served) for (const server of servers) server.renewTls(pair);
    served = pair;
  });
  lifecycle.onStop("certificate", stop);
}
