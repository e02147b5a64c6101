import { isIP } from "node:net";

import type { Request } from "express";

/** Gives the network address that a request came from. */
export type AddressOf = (request: Request) => string;

/** Whoever is at the other end of the connection. What a header says of it counts for nothing. */
const ofConnection: AddressOf = ({ socket }) => plain(socket.remoteAddress ?? "");

/** What the nearest proxy that is not trusted says, or is; `request.ip` follows Express's setting `trust proxy`. */
const throughProxies: AddressOf = (request) => {
  const { ip = "" } = request;
  return isIP(ip) === 0 ? ofConnection(request) : plain(ip);
};

/** Express takes a microsecond or two to work out what is at hand where no proxy is trusted. */
export const addressBehind = (trustedProxies: readonly string[]): AddressOf =>
  trustedProxies.length === 0 ? ofConnection : throughProxies;

/** IPv4 as it is seen by a server that listens on IPv6 too. */
const plain = (address: string): string => (address.startsWith("::ffff:") ? address.slice(7) : address);
