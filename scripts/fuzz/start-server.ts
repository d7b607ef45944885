import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface ServingTask {
  readonly storeUrl: string;
  readonly dataDir: string;
  /** The address of the model. Without it, the server starts its own simulator. */
  readonly modelUrl?: string;
}

export interface ServedKeys {
  readonly admin: string;
  readonly read?: string;
  readonly run?: string;
  /** A key of another tenant. */
  readonly foreign?: string;
}

/** A server in a separate process. */
export interface Served {
  readonly url: string;
  readonly keys: ServedKeys;
  readonly pid: number;
  /** What the server has written to standard error so far. */
  complaints(): string;
  isRunning(): boolean;
  close(): Promise<void>;
}

const STOP_MS = 12_000;

export async function startServed(task: ServingTask): Promise<Served> {
  mkdirSync(task.dataDir, { recursive: true });
  const program = fileURLToPath(new URL("./server-process.ts", import.meta.url));
  // The options of this process are not passed on, because a test runner may have added some.
  const child = spawn(process.execPath, ["--conditions=@skein/source", program, JSON.stringify(task)], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => (said = (said + bytes.toString()).slice(-1_000_000)));
  const exited = once(child, "exit");
  const first = once(createInterface(child.stdout), "line") as Promise<[string]>;
  const line = await Promise.race([first.then(([text]) => text), exited.then(() => undefined)]);
  if (line === undefined || child.pid === undefined) throw new Error(`The server did not start: ${said}`);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    ...(JSON.parse(line) as { url: string; keys: ServedKeys }),
    pid: child.pid,
    complaints: () => said,
    isRunning,
    async close() {
      child.stdin.end();
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      if (isRunning()) await exited;
      clearTimeout(timer);
    },
  };
}
