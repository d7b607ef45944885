import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { FILTER_PIPE } from "../src/sandbox/bubblewrap.ts";
import { syscallFilter } from "../src/sandbox/syscall-filter.ts";
import { hasBubblewrap } from "./bubblewrap.ts";

const ALLOWED = 0x7fff0000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const KILLED = 0x80000000;
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;
const NEW_USER = 0x10000000;
/** The flags with which `clone` makes a thread. */
const THREAD = 0x003d0f00;

test.each([
  ["x64", "read", { audit: X64, number: 0, first: 0 }, ALLOWED],
  ["x64", "execve, which starts the program", { audit: X64, number: 59, first: 0 }, ALLOWED],
  ["x64", "socket", { audit: X64, number: 41, first: 0 }, EPERM],
  ["x64", "ptrace", { audit: X64, number: 101, first: 0 }, EPERM],
  ["x64", "io_uring_setup", { audit: X64, number: 425, first: 0 }, EPERM],
  ["x64", "unshare", { audit: X64, number: 272, first: 0 }, EPERM],
  ["x64", "clone of a thread", { audit: X64, number: 56, first: THREAD }, ALLOWED],
  ["x64", "clone with a user namespace", { audit: X64, number: 56, first: THREAD | NEW_USER }, EPERM],
  ["x64", "clone3", { audit: X64, number: 435, first: 0 }, ENOSYS],
  ["x64", "socket of x32", { audit: X64, number: 41 + 0x40000000, first: 0 }, KILLED],
  ["x64", "socket of another machine", { audit: 0x40000003, number: 359, first: 0 }, KILLED],
  ["arm64", "read", { audit: ARM64, number: 63, first: 0 }, ALLOWED],
  ["arm64", "socket", { audit: ARM64, number: 198, first: 0 }, EPERM],
  ["arm64", "mount", { audit: ARM64, number: 40, first: 0 }, EPERM],
  ["arm64", "clone with a user namespace", { audit: ARM64, number: 220, first: NEW_USER }, EPERM],
  ["arm64", "clone of a thread", { audit: ARM64, number: 220, first: THREAD }, ALLOWED],
])("the filter for %s gives the right answer to %s", (arch, _, call, expected) => {
  const filter = syscallFilter(arch) ?? new Uint8Array();
  expect(answerOf(filter, call)).toBe(expected);
});

test("there is no filter for a processor whose call numbers are not known", () => {
  expect(syscallFilter("s390x")).toBeUndefined();
});

test.skipIf(!hasBubblewrap || !syscallFilter(process.arch))(
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
    (child.stdio[FILTER_PIPE] as Writable).end(syscallFilter(process.arch));
    expect(await text(child.stdio[1] as Readable)).toBe("no netlink, no namespace, EPERM\n");
  },
);

/** What the kernel would answer, by interpreting the instructions of the filter. */
function answerOf(filter: Uint8Array, call: { audit: number; number: number; first: number }): number {
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  let value = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const code = view.getUint16(at, true);
    const k = view.getUint32(at + 4, true);
    const jump = (isSo: boolean): number => 8 * view.getUint8(at + (isSo ? 2 : 3));
    if (code === 0x06) return k;
    if (code === 0x20) value = (k === 0 ? call.number : k === 4 ? call.audit : call.first) >>> 0;
    if (code === 0x15) at += jump(value === k);
    if (code === 0x35) at += jump(value >= k);
    if (code === 0x45) at += jump((value & k) !== 0);
  }
  throw new Error("It has no end.");
}
