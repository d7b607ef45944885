import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

export interface Platform {
  readonly url: string;
  readonly key: string;
  readonly port: number;
  readonly pid: number;
  /** Kills the process, as in a crash. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface PlatformOptions {
  readonly data: string;
  /** The address of the model. The default is the simulator of the platform. */
  readonly modelUrl?: string;
  readonly config?: string;
  readonly port?: number;
  /** The folder of the built console. The default is `apps/console/dist`. */
  readonly consoleFolder?: string;
  /** A folder in which Claude Code may work. Without it, Claude Code is off. */
  readonly claudeFolder?: string;
}

/** Runs a real `skein serve` with its own store as a child of this process, on loopback. */
export async function startPlatform({
  data,
  modelUrl,
  config,
  port = 0,
  consoleFolder,
  claudeFolder,
}: PlatformOptions): Promise<Platform> {
  const key = "console-development-key";
  const args = [join(ROOT, "packages/cli/bin/skein.js"), "serve", "--port", String(port), "--data", data];
  if (config !== undefined) args.push("--config", config);
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      // Claude Code makes its temporary folders in the data folder, so that they are removed even after a crash.
      TMPDIR: claudeFolder === undefined ? process.env["TMPDIR"] : data,
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      HOME: data,
      SKEIN_API_KEY: key,
      SKEIN_ALLOWED_WEBHOOK_ADDRESSES: "127.0.0.1",
      ...(claudeFolder === undefined ? { SKEIN_CLAUDE_CODE: "off" } : { SKEIN_CLAUDE_ROOTS: claudeFolder }),
      ...(consoleFolder !== undefined && { SKEIN_CONSOLE: consoleFolder }),
      ...(modelUrl !== undefined && { ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: "simulated" }),
    },
  });
  const url = await address(child);
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  const pid = child.pid ?? 0;
  return { url, key, pid, port: Number(new URL(url).port), kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.on("data", (piece: Buffer) => {
      said += piece.toString();
      const found = /listens on (http:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.stderr?.on("data", (piece: Buffer) => (said += piece.toString()));
    child.once("exit", (code) => reject(new Error(`skein serve ended with ${code}: ${said}`)));
  });
}
