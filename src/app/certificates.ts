import { readFileSync } from "node:fs";

import type { HttpServer } from "../../http/framework/server.ts";
import type { Config } from "../config.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import { repeat } from "../lib/platform.ts";
import { Rotated } from "../lib/rotated.ts";
import { findExpiries, readTlsPair, type NamedFile, type TlsFiles, type TlsPair } from "../lib/tls.ts";
import { listTlsFiles } from "../storage/client-options.ts";

interface Certificate {
  readonly setting: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The certificates in the files of the settings as they are now. Files that cannot be read are left out. */
export function findCertificates(config: Pick<Config, "http" | "kafka" | "mongodbUri">): Certificate[] {
  return listCertificateFiles(config).flatMap(({ setting, file, isAuthority }) => {
    try {
      const all = findExpiries(readFileSync(file, "utf8"));
      // A chain is valid until its first certificate expires; former authorities may stay in a bundle.
      return [{ setting, expiresAt: isAuthority ? Math.max(...all) : Math.min(...all) }];
    } catch {
      return [];
    }
  });
}

function listCertificateFiles({ http, kafka, mongodbUri }: Pick<Config, "http" | "kafka" | "mongodbUri">) {
  const own: readonly (NamedFile | undefined)[] = [
    http.tls && { setting: "HTTP_TLS_CERT", file: http.tls.files.cert },
    kafka.tls?.files.ca,
    kafka.tls?.files.cert,
  ];
  const ofMongodb = mongodbUri === undefined ? [] : listTlsFiles(mongodbUri);
  return [
    ...own.filter((named) => named !== undefined),
    ...ofMongodb.map(({ option, file }) => ({ setting: `MONGODB_URI ${option}`, file })),
  ].map((named) => ({ ...named, isAuthority: /CA/.test(named.setting) }));
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
