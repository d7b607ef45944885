import { spawn } from "node:child_process";
import { realpath } from "node:fs/promises";
import type { Readable } from "node:stream";
import { type HostGate, type Sandbox, type SandboxLimits, type Tool, defineTool } from "@skein/core";
import { z } from "zod";
import { withForwarder } from "../sandboxes/host-gate.ts";
import type { PlaceOf } from "./call-place.ts";

export interface BashOptions {
  /**
   * Environment variables for commands, in addition to a minimum. A command gets no other variables of this process.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** How many characters of output are kept: half from its beginning, half from its end. */
  readonly outputLimit?: number;
  /** Whether commands run in a separate process namespace (`ISOLATED`), if the system allows it. Default: true. */
  readonly isolate?: boolean;
}

/** The default limits of one command. */
const BASH_LIMITS: SandboxLimits = {
  totalMemoryBytes: 2 * 1024 ** 3,
  processes: 128,
  fileBytes: 1024 ** 3,
  folderBytes: 10 * 1024 ** 3,
  cpuSeconds: 600,
};

const DEFAULT_TIMEOUT = 120_000;
const LONGEST_TIMEOUT = 600_000;
const PATH = "/usr/local/bin:/usr/bin:/bin";
/** How long a command may take to end after SIGTERM, before it is killed. */
const GRACE_MS = 300;

/**
 * Arguments of `unshare` for a command in a separate process namespace. The command sees only processes of this
 * namespace, so it cannot read the API keys in the environment of this process. When its first process ends, the kernel
 * ends all processes of the namespace.
 */
const ISOLATED = ["--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--"];

/** Whether this system lets an ordinary user create a process namespace. Many containers do not. */
async function canIsolate(): Promise<boolean> {
  const probe = spawn("unshare", [...ISOLATED, "true"], { stdio: "ignore", env: { PATH } });
  return new Promise((resolve) => {
    probe.on("error", () => resolve(false)).on("exit", (code) => resolve(code === 0));
  });
}

/**
 * Runs shell commands in a folder.
 *
 * Without a sandbox, a command starts in the folder, but can change every file that this process can change. In a
 * sandbox the command sees the folder, a read-only system, a private `/tmp`, and no network except the allowed hosts.
 */
export function createBash(placeOf: PlaceOf, options: BashOptions = {}): Tool {
  const { env = {}, outputLimit = 30_000, isolate = true } = options;
  let isolation: Promise<boolean> | undefined;
  const shell = async (command: string): Promise<readonly [string, ...string[]]> => {
    isolation ??= isolate ? canIsolate() : Promise.resolve(false);
    const bash = ["/bin/bash", "-c", command] as const;
    return (await isolation) ? ["unshare", ...ISOLATED, ...bash] : bash;
  };
  return defineTool({
    name: "Bash",
    description:
      "Runs a shell command in the working folder and returns what it prints. Processes that it starts end with it: there are no background processes.",
    input: z.object({
      command: z.string().min(1).describe("The command to run."),
      timeout: z
        .number()
        .positive()
        .max(LONGEST_TIMEOUT)
        .optional()
        .describe(
          `Milliseconds after which the command is stopped. Default: ${DEFAULT_TIMEOUT}, at most ${LONGEST_TIMEOUT}.`,
        ),
      description: z.string().optional().describe("What the command does, in a few words."),
    }),
    policy: "once",
    run: async ({ command, timeout = DEFAULT_TIMEOUT }, { signal, workplace }) => {
      const { folder, sandbox, limits = BASH_LIMITS, refusal, onRefused, openHosts } = await placeOf({ workplace });
      if (refusal !== undefined) {
        await onRefused?.();
        throw new Error(refusal);
      }
      const how = { cwd: await realpath(folder), env, outputLimit, timeout, signal };
      const gate = sandbox && (await openHosts?.());
      const { code, output, stopped, limit } = sandbox
        ? await runInSandbox(sandbox, command, { ...how, limits, gate }).finally(() => gate?.close())
        : await runCommand(await shell(command), how);
      if (limit !== undefined) throw new Error(`The command was stopped: ${limit}.\n${output}`.trim());
      if (stopped) throw new Error(`The command was stopped after ${timeout} ms.\n${output}`.trim());
      if (code !== 0) throw new Error(`Exit code ${code}\n${output}`.trim());
      return output;
    },
  });
}

interface CommandOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly outputLimit: number;
  readonly timeout: number;
  readonly signal: AbortSignal;
}

interface Finished {
  readonly code: number | string;
  readonly output: string;
  readonly stopped: boolean;
  /** The limit of the sandbox that the command exceeded. */
  readonly limit?: string | undefined;
}

interface SandboxedCommand extends CommandOptions {
  readonly limits: SandboxLimits;
  /** The gate to allowed hosts, if there is one. */
  readonly gate: HostGate | undefined;
}

async function runInSandbox(
  sandbox: Sandbox,
  command: string,
  { cwd, env, outputLimit, timeout, signal, limits, gate }: SandboxedCommand,
): Promise<Finished> {
  const output = createOutput(outputLimit);
  const shell = gate ? withForwarder("/bin/bash") : { command: "/bin/bash", before: [] };
  const child = sandbox.start({
    command: shell.command,
    args: [...shell.before, "-c", command],
    cwd,
    env: { PATH, HOME: cwd, LANG: "C.UTF-8", TERM: "dumb", ...gate?.env, ...env },
    places: [{ path: cwd, access: "write" }, ...(gate ? [gate.place] : [])],
    limits,
  });
  let stopped = false;
  let graceful: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill("SIGTERM");
    graceful = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  };
  const timer = setTimeout(() => {
    stopped = true;
    end();
  }, timeout);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  child.stdin.end();
  child.stdout.on("data", output.add);
  child.stderr.on("data", output.add);
  try {
    // The sandbox ends the command's remaining processes, so the pipes end too.
    const [{ code, signal: killedBy, limit }] = await Promise.all([
      child.ended,
      closed(child.stdout),
      closed(child.stderr),
    ]);
    return { code: code ?? killedBy ?? "unknown", output: output.text(), stopped, limit };
  } finally {
    clearTimeout(timer);
    clearTimeout(graceful);
    signal.removeEventListener("abort", end);
  }
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve();
    stream.once("close", resolve);
  });
}

function runCommand([program, ...args]: readonly [string, ...string[]], options: CommandOptions): Promise<Finished> {
  const { cwd, env, outputLimit, timeout, signal } = options;
  const output = createOutput(outputLimit);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { PATH, HOME: cwd, LANG: "C.UTF-8", TERM: "dumb", ...env },
      // The command has a separate process group, so that all its processes can be ended together.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stopped = false;
    let graceful: NodeJS.Timeout | undefined;
    const end = (): void => {
      killGroup(child.pid, "SIGTERM");
      graceful = setTimeout(() => killGroup(child.pid, "SIGKILL"), GRACE_MS);
    };
    const timer = setTimeout(() => {
      stopped = true;
      end();
    }, timeout);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    child.stdout.on("data", output.add);
    child.stderr.on("data", output.add);
    child.on("error", reject);
    // Processes that remain after the end of the shell are killed, because they would keep the pipes open and continue
    // unnoticed.
    child.on("exit", () => setTimeout(() => killGroup(child.pid, "SIGKILL"), 20));
    child.on("close", (code, killedBy) => {
      clearTimeout(timer);
      clearTimeout(graceful);
      signal.removeEventListener("abort", end);
      resolve({ code: code ?? killedBy ?? "unknown", output: output.text(), stopped });
    });
  });
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The process has ended already.
  }
}

/** Keeps the beginning and the end of the output. */
function createOutput(limit: number) {
  const half = Math.floor(limit / 2);
  const decoder = new TextDecoder();
  let head = "";
  let tail = "";
  let dropped = 0;

  return {
    add(chunk: Uint8Array): void {
      const text = decoder.decode(chunk, { stream: true });
      const room = half - head.length;
      head += text.slice(0, room);
      tail += text.slice(Math.max(0, room));
      if (tail.length <= 2 * half) return;
      dropped += tail.length - half;
      tail = tail.slice(-half);
    },
    text(): string {
      const extra = Math.max(0, tail.length - half);
      const hidden = dropped + extra;
      const note = hidden > 0 ? `\n[${hidden} characters are left out here]\n` : "";
      return `${head}${note}${tail.slice(extra)}`.toWellFormed();
    },
  };
}
