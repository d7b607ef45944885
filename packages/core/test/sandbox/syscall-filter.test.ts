import { spawn, spawnSync } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { syscallFilter } from "../../src/sandbox/syscall-filter.ts";

const FILTER_PIPE = 4;
const hasBubblewrap = spawnSync("bwrap", ["--version"]).status === 0;

const ALLOWED = 0x7fff0000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const KILLED = 0x80000000;
const EAFNOSUPPORT = 0x00050061;
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const NEW_USER = 0x10000000;
/** The flags with which `clone` makes a thread. */
const THREAD = 0x003d0f00;

interface Call {
  readonly arch: "x64" | "arm64";
  readonly audit?: number;
  readonly number: number;
  readonly args?: readonly number[];
  readonly sockets?: boolean;
}

test.each<[string, Call, number]>([
  ["read", { arch: "x64", number: 0 }, ALLOWED],
  ["execve, which starts the program", { arch: "x64", number: 59 }, ALLOWED],
  ["socket", { arch: "x64", number: 41 }, EPERM],
  ["ptrace", { arch: "x64", number: 101, sockets: true }, EPERM],
  ["io_uring_setup", { arch: "x64", number: 425, sockets: true }, EPERM],
  ["unshare", { arch: "x64", number: 272, sockets: true }, EPERM],
  ["iopl", { arch: "x64", number: 172 }, EPERM],
  ["clone of a thread", { arch: "x64", number: 56, args: [THREAD] }, ALLOWED],
  ["clone with a user namespace", { arch: "x64", number: 56, args: [THREAD | NEW_USER] }, EPERM],
  ["clone3", { arch: "x64", number: 435 }, ENOSYS],
  ["openat2", { arch: "x64", number: 437 }, ENOSYS],
  ["socket of x32", { arch: "x64", number: 41 + 0x40000000 }, KILLED],
  ["socket of another architecture", { arch: "x64", audit: 0x40000003, number: 359 }, KILLED],
  ["a Unix socket, with sockets allowed", { arch: "x64", number: 41, args: [1], sockets: true }, ALLOWED],
  ["an IPv6 socket, with sockets allowed", { arch: "x64", number: 41, args: [10], sockets: true }, ALLOWED],
  ["a vsock socket, with sockets allowed", { arch: "x64", number: 41, args: [40], sockets: true }, EAFNOSUPPORT],
  ["a packet socket, with sockets allowed", { arch: "x64", number: 41, args: [17], sockets: true }, EAFNOSUPPORT],
  ["connect, with sockets allowed", { arch: "x64", number: 42, args: [5], sockets: true }, ALLOWED],
  ["ioctl that types into a terminal", { arch: "x64", number: 16, args: [0, 0x5412], sockets: true }, EPERM],
  ["ioctl that asks for the size of a terminal", { arch: "x64", number: 16, args: [0, 0x5413] }, ALLOWED],
  ["chmod 755", { arch: "x64", number: 90, args: [0, 0o755] }, ALLOWED],
  ["chmod 4755", { arch: "x64", number: 90, args: [0, 0o4755] }, EPERM],
  ["fchmodat 2755", { arch: "x64", number: 268, args: [0, 0, 0o2755] }, EPERM],
  ["openat that makes a set-user-id file", { arch: "x64", number: 257, args: [0, 0, 0x41, 0o4755] }, EPERM],
  ["openat that only reads, with an unused argument", { arch: "x64", number: 257, args: [0, 0, 0, 0o4755] }, ALLOWED],
  ["openat of a nameless set-user-id file", { arch: "x64", number: 257, args: [0, 0, 0x410001, 0o4755] }, EPERM],
  ["read", { arch: "arm64", number: 63 }, ALLOWED],
  ["socket", { arch: "arm64", number: 198 }, EPERM],
  ["a vsock socket, with sockets allowed", { arch: "arm64", number: 198, args: [40], sockets: true }, EAFNOSUPPORT],
  ["mount", { arch: "arm64", number: 40 }, EPERM],
  ["fchmod 4755", { arch: "arm64", number: 52, args: [0, 0o4755] }, EPERM],
  ["clone with a user namespace", { arch: "arm64", number: 220, args: [NEW_USER] }, EPERM],
  ["clone of a thread", { arch: "arm64", number: 220, args: [THREAD] }, ALLOWED],
])("the filter gives the right answer to %s", (_, call, expected) => {
  const filter = syscallFilter(call.arch, { sockets: call.sockets ?? false }) ?? new Uint8Array();
  expect(answerOf(filter, call)).toBe(expected);
});

test("an unknown processor has no filter", () => {
  expect(syscallFilter("s390x", { sockets: false })).toBeUndefined();
});

test.skipIf(!hasBubblewrap || !syscallFilter(process.arch, { sockets: false }))(
  "Node runs under bubblewrap with the filter, and cannot make a socket or a namespace",
  { timeout: 60_000 },
  async () => {
    const tries = `
      const { networkInterfaces } = require("node:os");
      const { spawnSync } = require("node:child_process");
      const { createServer } = require("node:net");
      const said = [];
      try { networkInterfaces(); said.push("netlink"); } catch { said.push("no netlink"); }
      said.push(spawnSync("/usr/bin/unshare", ["-U", "/bin/true"], { stdio: "ignore" }).status === 0 ? "namespace" : "no namespace");
      createServer().on("error", (error) => console.log(said.join(", ") + ", " + error.code)).listen(0, "127.0.0.1", () => console.log("listens"));
    `;
    const args = ["--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev", "--seccomp", String(FILTER_PIPE)];
    const child = spawn("bwrap", [...args, process.execPath, "-e", tries], {
      stdio: ["ignore", "pipe", "inherit", "ignore", "pipe"],
    });
    (child.stdio[FILTER_PIPE] as Writable).end(syscallFilter(process.arch, { sockets: false }));
    expect(await text(child.stdio[1] as Readable)).toBe("no netlink, no namespace, EPERM\n");
  },
);

/** Interprets the instructions of the filter, and returns the answer of the kernel to a system call. */
function answerOf(filter: Uint8Array, { arch, audit = AUDIT[arch], number, args = [] }: Call): number {
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  let value = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const code = view.getUint16(at, true);
    const k = view.getUint32(at + 4, true);
    const jump = (isSo: boolean): number => 8 * view.getUint8(at + (isSo ? 2 : 3));
    if (code === 0x06) return k;
    if (code === 0x20) value = (k === 0 ? number : k === 4 ? audit : (args[(k - 16) / 8] ?? 0)) >>> 0;
    if (code === 0x15) at += jump(value === k);
    if (code === 0x35) at += jump(value >= k);
    if (code === 0x45) at += jump((value & k) !== 0);
  }
  throw new Error("The filter ended without a return instruction.");
}
