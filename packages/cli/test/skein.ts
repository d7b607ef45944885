import { AsyncLocalStorage } from "node:async_hooks";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { main } from "../src/main.ts";

export const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));

/** The progress line of a command that takes longer than a second. */
const AT_WORK = /^[A-Z][A-Za-z ]+ …\n/gm;

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when stdout or stderr has this text. */
  says(text: string | RegExp): Promise<string>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Creates the home folder of a user. It is removed at the end of the test. */
export function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the environment of a user with this home folder, without any setting of this machine. */
export function environmentOf(folder: string): Environment {
  const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    HOME: folder,
    SKEIN_DATA_DIR: join(folder, "data"),
    ...(TMPDIR !== undefined && { TMPDIR }),
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
}

/** Starts `skein` as a separate process, for tests that need one: signals, pipes, typed input. */
export function start(folder: string, args: readonly string[], env: Environment = {}): Started {
  const child = spawn(process.execPath, [bin, ...args], { env: { ...environmentOf(folder), ...env }, stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  let heard = (): void => {};
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    heard();
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    heard();
  });
  const ended = new Promise<Ended>((resolve) =>
    child.once("close", (code) => resolve({ code, out, err: err.replaceAll(AT_WORK, "") })),
  );
  return {
    child,
    ended,
    async says(text) {
      const found = (): boolean => (typeof text === "string" ? (out + err).includes(text) : text.test(out + err));
      while (!found())
        await Promise.race([
          new Promise<void>((resolve) => (heard = resolve)),
          ended.then(() => {
            if (found()) return;
            throw new Error(`The command ended without printing ${String(text)}:\n${out}\n${err}`);
          }),
        ]);
      return out + err;
    },
  };
}

/** Runs one call of the command to its end, in a separate process. */
export async function skeinProcess(folder: string, ...args: readonly string[]): Promise<Ended> {
  const { child, ended } = start(folder, args);
  child.stdin?.end();
  return ended;
}

/**
 * Runs one call of the command to its end, in this process. The call has its own environment, streams and working
 * folder, and `process.exit` ends only the call. It takes some milliseconds; starting a process takes 0.3 to 0.7 s of
 * processor time.
 */
export async function skein(folder: string, ...args: readonly string[]): Promise<Ended> {
  return call(args, { env: environmentOf(folder) });
}

interface CallOptions {
  readonly env: Environment;
  readonly cwd?: string;
}

/** Calls run one after the other, because they share the environment of this process. */
let last: Promise<unknown> = Promise.resolve();

export function call(args: readonly string[], options: CallOptions): Promise<Ended> {
  const ended = last.then(() => callNow(args, options));
  last = ended.catch(() => undefined);
  return ended;
}

/** The parts of the process that a call sees. */
interface CalledProcess {
  readonly argv: readonly string[];
  readonly stdin: Readable;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  exit(code?: number): void;
}

const calls = new AsyncLocalStorage<CalledProcess>();

for (const name of ["argv", "stdin", "stdout", "stderr"] as const) {
  const real = process[name];
  Object.defineProperty(process, name, { configurable: true, get: () => calls.getStore()?.[name] ?? real });
}
const realExit = process.exit;
// `process.exit` stays replaced, because an ended command may still exit to stop a running tool.
process.exit = ((code?: number) => (calls.getStore() ?? { exit: realExit }).exit(code)) as typeof process.exit;

async function callNow(args: readonly string[], { env, cwd = process.cwd() }: CallOptions): Promise<Ended> {
  const before = { env: { ...process.env }, cwd: process.cwd(), umask: process.umask() };
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  stdout.on("data", (bytes: Buffer) => out.push(bytes));
  stderr.on("data", (bytes: Buffer) => err.push(bytes));
  setEnvironment(env);
  process.chdir(cwd);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      const called = {
        argv: [process.execPath, bin, ...args],
        stdin: Readable.from([]),
        stdout,
        stderr,
        exit: (status = 0) => resolve(status),
      };
      void calls.run(called, () => main(args).then(resolve, reject));
    });
    await Promise.all([stdout, stderr].map((stream) => new Promise((resolve) => stream.end(resolve))));
    const said = Buffer.concat(err).toString().replaceAll(AT_WORK, "");
    return { code, out: Buffer.concat(out).toString(), err: said };
  } finally {
    setEnvironment(before.env);
    process.chdir(before.cwd);
    process.umask(before.umask);
  }
}

function setEnvironment(env: Environment): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

/** Parses the lines that a command printed with --json. */
export function lines(text: string): readonly Record<string, unknown>[] {
  return text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
