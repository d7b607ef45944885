import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));

/** What a command says when it takes longer than a second, as it may on a busy machine. */
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

/** A data folder of its own, gone at the end of the test. */
export function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** `skein` as a person calls it, as a process of its own, with nothing of this machine's settings. */
export function start(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH, HOME: folder, SKEIN_DATA_DIR: join(folder, "data"), ...env },
    stdio: "pipe",
  });
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
            throw new Error(`Ended without saying ${String(text)}:\n${out}\n${err}`);
          }),
        ]);
      return out + err;
    },
  };
}

export async function skein(folder: string, ...args: readonly string[]): Promise<Ended> {
  const { child, ended } = start(folder, args);
  child.stdin?.end();
  return ended;
}

/** The values of a command's --json. */
export function lines(text: string): readonly Record<string, unknown>[] {
  return text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
