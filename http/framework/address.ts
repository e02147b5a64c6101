import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

import proxyAddress from "proxy-addr";

/** Gives the network address that a request came from. */
export type AddressOf = (request: IncomingMessage) => string;

/** Tells whether the caller uses TLS, to us or to what stands before us. */
export type IsSecure = (request: IncomingMessage) => boolean;

/** Whoever is at the other end of the connection. What a header says of it counts for nothing. */
const ofConnection: AddressOf = ({ socket }) => plain(socket.remoteAddress ?? "");

/**
 * What the nearest proxy that is not trusted says, or is.
 *
 * @param trustedProxies - Addresses and CIDR ranges of proxies whose X-Forwarded-For is believed.
 */
export function addressBehind(trustedProxies: readonly string[]): AddressOf {
  // To work out what is at hand takes a microsecond or two.
  if (trustedProxies.length === 0) return ofConnection;
  const isTrusted = proxyAddress.compile([...trustedProxies]);
  return (request) => {
    const said = proxyAddress(request, isTrusted);
    return isIP(said) === 0 ? ofConnection(request) : plain(said);
  };
}

export interface SecurityOptions {
  /** Whether we serve TLS ourselves. */
  readonly overTls: boolean;
  /** Where browsers find us; with `https:` everybody uses TLS, whatever ends it. */
  readonly publicUrl: string | undefined;
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-Proto is believed. */
  readonly trustedProxies: readonly string[];
}

export function createIsSecure({ overTls, publicUrl, trustedProxies }: SecurityOptions): IsSecure {
  if (overTls || publicUrl?.startsWith("https:") === true) return () => true;
  if (trustedProxies.length === 0) return () => false;
  const isTrusted = proxyAddress.compile([...trustedProxies]);
  return ({ socket, headers }) =>
    isTrusted(socket.remoteAddress ?? "", 0) && headers["x-forwarded-proto"] === "https";
}

/** IPv4 as it is seen by a server that listens on IPv6 too. */
const plain = (address: string): string => (address.startsWith("::ffff:") ? address.slice(7) : address);
