/**
 * Tests that Skein calls only configured addresses. strace records all connections of its processes, even from native
 * code such as DuckDB. The processes run in a network namespace that has only loopback, so nothing leaves the machine.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const IN_NAMESPACE = ["--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
const FLAGS = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"];

const canWatch = spawnSync("unshare", [...IN_NAMESPACE, "strace", "-f", "-e", "trace=connect", "true"]).status === 0;

interface Watched {
  readonly stdout: string;
  /** Addresses beyond loopback that were called, including name servers. */
  readonly addresses: readonly string[];
}

/** Runs Node in a new namespace and returns the addresses that it and its children called. */
function watch(...args: readonly string[]): Watched {
  const home = mkdtempSync(join(tmpdir(), "skein-calls-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const log = join(home, "calls");
  const strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", log];
  const command = [...IN_NAMESPACE, ...strace, process.execPath, ...FLAGS, ...args, home];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME: home, TMPDIR: home, NODE_COMPILE_CACHE };
  const { stdout, stderr, status } = spawnSync("unshare", command, { encoding: "utf8", env });
  expect(status, stderr).toBe(0);
  const named = [...readFileSync(log, "utf8").matchAll(/(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"/g)];
  const addresses = named.map(([, address = ""]) => address);
  return {
    stdout,
    addresses: [...new Set(addresses)].filter((address) => !/^(?:127\.|::1$|::ffff:127\.)/.test(address)),
  };
}

test.skipIf(!canWatch)("a call to an address and a DNS query are detected", () => {
  // The address is reserved for documentation, and the name never resolves.
  const code = `await fetch("http://192.0.2.7/").catch(() => {});
    await fetch("http://skein.invalid/").catch(() => {});`;
  const { addresses } = watch("--input-type=module", "--eval", code);
  expect(addresses).toContain("192.0.2.7");
  // If this machine uses a remote name server, the DNS query must have been detected too.
  const servers = [...readFileSync("/etc/resolv.conf", "utf8").matchAll(/^nameserver (\S+)$/gm)].map(([, one]) => one);
  const beyond = servers.filter((server) => !server?.startsWith("127."));
  expect(beyond.length === 0 || addresses.some((address) => beyond.includes(address))).toBe(true);
});

test.skipIf(!canWatch)("runs, a server, history and SQL call only loopback", () => {
  const { stdout, addresses } = watch(join(import.meta.dirname, "processes/journey.ts"));
  expect(stdout.trim().split("\n")).toEqual([
    "run How much is 2+2?: 0",
    "sessions list: 0",
    "history list: 0",
    "history usage --by month: 0",
    "history search the: 0",
    "sql SELECT count(*) FROM claude.messages: 0",
    expect.stringMatching(/^sql SELECT \* FROM read_xlsx\('a\.xlsx'\): [1-9]/),
    expect.stringMatching(/^doctor --json: [01]$/),
    "serve: 200",
    "a run over HTTP: completed",
  ]);
  expect(addresses).toEqual([]);
});
