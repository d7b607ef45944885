import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { type Sandbox, type SandboxLimits, type SandboxMode, type Tool, type Workplace, defineTool } from "@skein/core";
import { z } from "zod";
import { openSandbox } from "../sandboxes/bubblewrap/index.ts";
import type { ConfinedFolder } from "./confined-folder.ts";

export interface BashOptions {
  /** Variables that a command gets besides a bare minimum. Nothing of this process's own environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Characters of output that are kept: the first half from its beginning, the second from its end. */
  readonly outputLimit?: number;
  /** Whether commands run among processes of their own, where the system lets us; see `isolated`. True unless told. */
  readonly isolate?: boolean;
  /**
   * Whether commands run in a sandbox that sees only the folder and has no network. A server decides that by its policy; this is
   * for programs without one. `required`: without a sandbox there is no command. `off` unless told.
   */
  readonly sandbox?: SandboxMode;
}

/** What one command may use where nobody said so. */
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
/** How long a command has to end by itself when it is asked to. */
const GRACE_MS = 300;

/**
 * A command that sees no process but its own, so that it cannot read the keys in our environment, and of which nothing
 * survives, not even what left its group: when the first of these processes ends, the kernel ends the others.
 */
const ISOLATED = ["--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--"];

/** Whether this system lets an ordinary user do that. Many containers do not. */
async function canIsolate(): Promise<boolean> {
  const probe = spawn("unshare", [...ISOLATED, "true"], { stdio: "ignore", env: { PATH } });
  return new Promise((resolve) => {
    probe.on("error", () => resolve(false)).on("exit", (code) => resolve(code === 0));
  });
}

/**
 * Runs shell commands in a folder.
 *
 * Without a sandbox the folder is where a command starts, not a wall around it: what it may touch is for the operating system to say.
 * In a sandbox the command sees the folder, a read-only system, a `/tmp` of its own, and no network.
 */
export function createBash(folder: ConfinedFolder, options: BashOptions = {}): Tool {
  const { env = {}, outputLimit = 30_000, isolate = true, sandbox: walled = "off" } = options;
  let isolation: Promise<boolean> | undefined;
  const shell = async (command: string): Promise<readonly [string, ...string[]]> => {
    isolation ??= isolate ? canIsolate() : Promise.resolve(false);
    const bash = ["/bin/bash", "-c", command] as const;
    return (await isolation) ? ["unshare", ...ISOLATED, ...bash] : bash;
  };
  return defineTool({
    name: "Bash",
    description:
      "Runs a shell command in the working folder and returns what it prints. Everything that it starts ends with it: there are no background processes.",
    input: z.object({
      command: z.string().min(1).describe("The command to run."),
      timeout: z
        .number()
        .positive()
        .max(LONGEST_TIMEOUT)
        .optional()
        .describe(
          `Milliseconds after which it is stopped (${DEFAULT_TIMEOUT} unless told, ${LONGEST_TIMEOUT} at most).`,
        ),
      description: z.string().optional().describe("What the command does, in a few words."),
    }),
    policy: "once",
    run: async ({ command, timeout = DEFAULT_TIMEOUT }, { signal, workplace }) => {
      const { sandbox, limits, refusal, onRefused } = (await workplace?.()) ?? (await withoutRules(walled));
      if (refusal !== undefined) {
        await onRefused?.();
        throw new Error(refusal);
      }
      const how = { cwd: await folder.root(), env, outputLimit, timeout, signal };
      const { code, output, stopped, limit } = sandbox
        ? await runInSandbox(sandbox, command, { ...how, limits: limits ?? BASH_LIMITS })
        : await runCommand(await shell(command), how);
      if (limit !== undefined) throw new Error(`The command was stopped: ${limit}.\n${output}`.trim());
      if (stopped) throw new Error(`The command was stopped after ${timeout} ms.\n${output}`.trim());
      if (code !== 0) throw new Error(`Exit code ${code}\n${output}`.trim());
      return output;
    },
  });
}

/** Where a program without rules of a server runs its commands. */
async function withoutRules(mode: SandboxMode): Promise<Omit<Workplace, "folder">> {
  if (mode === "off") return { sandbox: undefined };
  const found = await openSandbox();
  if ("sandbox" in found) return { sandbox: found.sandbox };
  if (mode === "preferred") return { sandbox: undefined };
  return { sandbox: undefined, refusal: `Bash is off: a sandbox is required. ${found.problem}` };
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
  /** The limit of the sandbox that the command ran into. */
  readonly limit?: string | undefined;
}

async function runInSandbox(
  sandbox: Sandbox,
  command: string,
  { cwd, env, outputLimit, timeout, signal, limits }: CommandOptions & { readonly limits: SandboxLimits },
): Promise<Finished> {
  const output = createOutput(outputLimit);
  const child = sandbox.start({
    command: "/bin/bash",
    args: ["-c", command],
    cwd,
    env: { PATH, HOME: cwd, LANG: "C.UTF-8", TERM: "dumb", ...env },
    places: [{ path: cwd, access: "write" }],
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
    // The sandbox ends what the command left behind, so the pipes end too.
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
      // A group of its own, so that everything it starts can be ended with it.
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
    // When the shell is gone, so is what it left behind: it would hold the pipes open, and run on unseen.
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
    // It is gone already.
  }
}

/** Keeps the beginning and the end of what is printed, however much there is in between. */
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
