/**
 * Metadata, private and loopback addresses cannot be reached directly, by name, by redirect or by changing DNS answers.
 * The test runs in a separate network namespace.
 */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";

const ATTEMPTS = fileURLToPath(new URL("attempts.ts", import.meta.url));
/** Root can create a network namespace without a user namespace. bubblewrap creates another user namespace inside. */
const NAMESPACE = process.getuid?.() === 0 ? ["--net"] : ["--user", "--map-root-user", "--net"];
const PUBLIC = "93.184.216.34";

/** Spellings of addresses that no tool may reach. */
const LITERALS = [
  ..."127.0.0.1 127.1 2130706433 0x7f.1 0177.0.0.1 0 0.0.0.0 [::] [::1] [::ffff:127.0.0.1]".split(" "),
  ..."[::127.0.0.1] ①②⑦.⓪.⓪.① 127。0。0。1 localhost. x.localhost".split(" "),
  ..."169.254.169.254 [::ffff:169.254.169.254] [fd00:ec2::254] [fe80::1] [ff02::1]".split(" "),
  ..."[64:ff9b::7f00:1] [2002:7f00:1::] 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1".split(" "),
  ..."198.18.0.1 192.0.2.1 224.0.0.1 255.255.255.255".split(" "),
];
/** Addresses that lead to this machine inside the namespace, where every call is answered and counted. */
const FOREIGN = [PUBLIC, "169.254.169.254", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"];
const SETUP = [
  "ip link set lo up",
  ...FOREIGN.map((address) => `ip addr add ${address}/32 dev lo`),
  "ip -6 addr add fd00:ec2::254/128 dev lo 2>/dev/null || true",
  'exec "$@"',
].join(" && ");

const canTry =
  hasBubblewrap &&
  spawnSync("unshare", [...NAMESPACE, "sh", "-c", "ip link set lo up"], { stdio: "ignore" }).status === 0;

test.skipIf(!canTry)(
  "no tool reaches a metadata, private or loopback address: by number, by name, by redirect, or after DNS has changed",
  { timeout: 60_000 },
  async () => {
    const node = [process.execPath, "--conditions=@skein/source", "--disable-warning=ExperimentalWarning", ATTEMPTS];
    const { stdout } = await promisify(execFile)("unshare", [...NAMESPACE, "sh", "-c", SETUP, "sh", ...node], {
      env: { PATH: process.env["PATH"] ?? "", LITERALS: LITERALS.join(" ") },
    });
    const reached = JSON.parse(stdout) as Record<string, readonly string[]>;
    expect(reached).toEqual({
      WebFetch: [PUBLIC],
      "an MCP server's address": [PUBLIC],
      "Bash through the proxy": [PUBLIC],
      "Bash without the proxy": [],
      "what was opened": [PUBLIC],
    });
  },
);
