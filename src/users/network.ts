import { isIPv6 } from "node:net";

/**
 * Who is counted as one caller: an IPv4 address, or the /64 of an IPv6 address, which is the least that a site is given
 * (RFC 6177) and which one machine can take any number of addresses from.
 */
export function toNetwork(address: string): string {
  // It is asked for each request, mostly of IPv4 addresses.
  if (!address.includes(":")) return address;
  const [plain = ""] = address.split("%", 1);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(plain)) return plain;
  const [left = [], right = []] = plain
    .replace(/\d+\.\d+\.\d+\.\d+$/, "0:0")
    .split("::")
    .map((groups) => (groups === "" ? [] : groups.split(":")));
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
