/**
 * Starts a Redis server for tests, from the installed package, on a free port and without persistence. The server ends
 * when this process ends.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

export interface Redis {
  readonly url: string;
  /** Kills the server like a crash. Its data is lost. */
  kill(): Promise<void>;
  /** Starts the server again on the same port. */
  start(): Promise<void>;
  /** Makes the server hang until `wake` is called. It accepts connections but does not answer. */
  freeze(): void;
  wake(): void;
  /** Sends a command and returns its answer as text. */
  ask(...command: readonly string[]): string;
  stop(): Promise<void>;
}

/** Why tests cannot use Redis. Undefined if Redis is installed. */
export const noRedis: string | undefined =
  spawnSync("redis-server", ["--version"]).status === 0 ? undefined : "redis-server is not installed";

const hasSetpriv = spawnSync("setpriv", ["--version"]).status === 0;
const READY_MS = 20_000;

export async function startRedis(): Promise<Redis> {
  const folder = mkdtempSync(join(tmpdir(), "skein-redis-"));
  const port = await freePort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const settings = [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--dir",
      folder,
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    const command = ["redis-server", ...settings, "--daemonize", "no"];
    // With `--pdeathsig`, the server ends even if the test process is killed.
    const [name = "", ...args] = hasSetpriv ? ["setpriv", "--pdeathsig", "KILL", ...command] : command;
    server = spawn(name, args, { stdio: "ignore" });
    const end = Date.now() + READY_MS;
    while (!(await answers(port))) {
      if (server.exitCode !== null || Date.now() > end) throw new Error("redis-server did not start.");
      await sleep(10);
    }
  }

  async function kill(): Promise<void> {
    const ending = server;
    server = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.kill("SIGKILL");
    await once(ending, "exit");
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    freeze: () => void server?.kill("SIGSTOP"),
    wake: () => void server?.kill("SIGCONT"),
    ask(...command) {
      const { stdout, stderr } = spawnSync("redis-cli", ["-h", "127.0.0.1", "-p", String(port), ...command], {
        encoding: "utf8",
      });
      return (stdout || stderr).trim();
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether the server answers PONG. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write("PING\r\n");
    const [bytes] = (await once(socket, "data", { signal: AbortSignal.timeout(1000) })) as [Buffer];
    return bytes.toString().startsWith("+PONG");
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
