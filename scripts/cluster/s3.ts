/**
 * An S3 server for tests and the local cluster: s3rver, in a separate process on loopback. s3rver ends when this
 * process ends.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../free-port.ts";

export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly keyId: string;
  readonly secret: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const BUCKET = "skein";
const READY_MS = 30_000;

export async function startS3(folder: string): Promise<S3Server> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const program = createRequire(import.meta.url).resolve("s3rver/bin/s3rver.js");
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const where = ["--directory", folder, "--address", "127.0.0.1", "--port", String(port)];
    const command = [process.execPath, program, ...where, "--silent", "--configure-bucket", BUCKET];
    const started = spawn("setpriv", ["--pdeathsig", "KILL", ...command], { stdio: "ignore" });
    child = started;
    const end = Date.now() + READY_MS;
    while (!(await answers(endpoint))) {
      if (started.exitCode !== null || Date.now() > end) throw new Error("s3rver did not start.");
      await sleep(25);
    }
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.kill("SIGKILL");
    await once(ending, "exit");
  }

  await start();
  // The default keys of s3rver.
  return { endpoint, bucket: BUCKET, keyId: "S3RVER", secret: "S3RVER", start, kill, stop: kill };
}

async function answers(endpoint: string): Promise<boolean> {
  try {
    await (await fetch(endpoint, { signal: AbortSignal.timeout(1000) })).body?.cancel();
    return true;
  } catch {
    return false;
  }
}
