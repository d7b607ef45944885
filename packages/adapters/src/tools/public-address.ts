import { BlockList, isIP } from "node:net";

/**
 * Ranges that are not the public internet: this machine, private networks, link-local addresses, documentation,
 * multicast, and reserved ranges.
 */
const IPV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];
/** For IPv6, only publicly assigned ranges are allowed. Ranges whose addresses contain an IPv4 address are refused. */
const IPV6_ALLOWED: readonly (readonly [string, number])[] = [["2000::", 3]];
const IPV6_REFUSED: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const refused = new BlockList();
const allowed = new BlockList();
for (const [net, prefix] of IPV4) refused.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of IPV6_REFUSED) refused.addSubnet(net, prefix, "ipv6");
for (const [net, prefix] of IPV6_ALLOWED) allowed.addSubnet(net, prefix, "ipv6");

/** Whether a resolved address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refused.check(address, "ipv4");
  return family === 6 && allowed.check(address, "ipv6") && !refused.check(address, "ipv6");
}
