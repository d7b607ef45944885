import { EventEmitter, once } from "node:events";
import { statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Sandbox, SandboxedProcess, SandboxLimits, SandboxPlace } from "@skein/core";
import { isKnownError } from "@skein/protocol";
import { type ChildRequest, type ChildRoom, claudeRoom } from "./claude-places.ts";
import { type HiddenArguments, hideArguments, sweepHidden } from "./hidden-arguments.ts";
import { createTail, limitLines } from "./child-output.ts";

/**
 * The limits of a child. They can change while it runs, because a child that was started in advance gets its session
 * later.
 */
export interface ChildTerms {
  /**
   * Returns how long the child may run without another message from this server. This time is shorter than the lease.
   */
  readonly goodForMs?: () => number;
  /** The largest message of the child, in bytes. */
  readonly maxMessageBytes?: number;
  /** Returns true while an answer of the child is expected. The child may then be silent for at most `quietMs`. */
  readonly isBusy?: () => boolean;
  readonly quietMs?: number;
  /** Values that must not appear in reports about the child. */
  readonly secrets?: readonly string[];
}

/** Why a child ended. */
export type ChildCause =
  /** The child ended without a request to end. */
  | "exited"
  /** The child could not be started. */
  | "not_started"
  /** This server ended the child on request. */
  | "killed"
  /** The child sent nothing after its start. */
  | "start_timeout"
  /** The child was silent for too long although an answer was expected. */
  | "quiet"
  /** A message of the child was larger than allowed. */
  | "message_too_large"
  /** The child exceeded a limit of its sandbox. */
  | "limit"
  /**
   * The guard (a program that starts the child) ended the child, because this server was paused or busy for longer than
   * its lease allows.
   */
  | "guard";

export interface ChildEnd {
  readonly cause: ChildCause;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** A sentence about the cause, without secrets. */
  readonly message: string;
  /** The last part of the child's stderr, without secrets. */
  readonly stderr: string;
}

/** A child for the SDK (`SpawnedProcess`). It also reports why it ended. */
export interface GuardedChild {
  /** The id of the outermost process and of the process group. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly killed: boolean;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
  /** Ends the child and everything that it started. If `signal` is not SIGKILL, SIGKILL follows after `graceMs`. */
  kill(signal: NodeJS.Signals): boolean;
  /** Changes the given limits and keeps all others. */
  agree(terms: ChildTerms): void;
  readonly ended: Promise<ChildEnd>;
  on<Name extends keyof ChildEvents>(event: Name, listener: Listener<Name>): void;
  once<Name extends keyof ChildEvents>(event: Name, listener: Listener<Name>): void;
  off<Name extends keyof ChildEvents>(event: Name, listener: Listener<Name>): void;
}

interface ChildEvents {
  exit: [code: number | null, signal: NodeJS.Signals | null];
  error: [error: Error];
}
type Listener<Name extends keyof ChildEvents> = (...args: ChildEvents[Name]) => void;

export interface SpawnChildDeps {
  readonly sandbox: Sandbox;
  readonly limits?: SandboxLimits;
  /** The folder for files with the secrets of running children. It is created with mode 0700. */
  readonly folder: string;
  readonly terms?: ChildTerms;
  /** If a child has not ended this long after a request to end, it is killed. */
  readonly graceMs?: number;
  /** The time limit for a child's first message. */
  readonly startMs?: number;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** 70 % of the runtime's lease of 30 s. */
const GOOD_FOR_MS = 21_000;
const QUIET_MS = 30 * 60_000;
const GRACE_MS = 2000;
const START_MS = 120_000;
/** The wait for the last output on stderr after the end of a child. */
const LAST_WORDS_MS = 500;
/** The longest time between messages to the guard. It is short, so that the guard notices a server that hangs. */
const MAX_BEAT_MS = 2000;

const SENTENCES: Record<ChildCause, string> = {
  exited: "Claude Code ended without being told to.",
  not_started: "Claude Code could not be started.",
  killed: "Claude Code was stopped.",
  start_timeout: "Claude Code sent nothing after its start and was stopped.",
  quiet: "Claude Code was silent for too long and was stopped.",
  message_too_large: "Claude Code sent a message that is larger than max_buffer_size and was stopped.",
  limit: "Claude Code was stopped because of a limit of this server",
  guard: "Claude Code was stopped because this server was paused or busy for too long.",
};

/**
 * Starts child processes for the SDK (`spawnClaudeCodeProcess`). A child ends with this server, even if the server is
 * killed, stopped, or too busy to renew its lease.
 */
export function createSpawnChild(
  deps: SpawnChildDeps,
): (request: ChildRequest, places?: readonly SandboxPlace[]) => GuardedChild {
  sweepHidden(deps.folder);
  return (request, places = []) => spawnChild(request, { ...deps, places });
}

interface SpawnDeps extends SpawnChildDeps {
  /** The paths that the child sees in its sandbox, besides its folders. */
  readonly places: readonly SandboxPlace[];
}

function spawnChild(request: ChildRequest, deps: SpawnDeps): GuardedChild {
  const { signal } = request;
  const { graceMs = GRACE_MS, startMs = START_MS } = deps;
  let terms: ChildTerms = deps.terms ?? {};
  let cause: ChildCause | undefined;
  let end: ChildEnd | undefined;
  let beats: NodeJS.Timeout | undefined;
  let grace: NodeJS.Timeout | undefined;
  let lastWord = Date.now();
  let goodUntil = Infinity;
  const goodForMs = (): number => Math.max(0, terms.goodForMs?.() ?? GOOD_FOR_MS);

  const hidden = hideArguments(request.args, deps.folder);
  const child = startInRoom(request, { deps, hidden, goodForMs: goodForMs() });
  const { stdin, stdout: rawStdout, stderr } = child;
  const events = new EventEmitter();
  const tail = createTail();
  const maxBytes = (): number => terms.maxMessageBytes ?? MAX_MESSAGE_BYTES;
  const stdout = rawStdout.pipe(limitLines(maxBytes, () => stop("message_too_large")));
  const starting = setTimeout(() => stop("start_timeout"), startMs).unref();
  rawStdout.on("data", () => {
    lastWord = Date.now();
    clearTimeout(starting);
  });
  stderr.on("data", tail.add);

  function stop(why: ChildCause, how: NodeJS.Signals = "SIGKILL"): void {
    if (end) return;
    cause ??= why;
    child.kill(how);
    if (how !== "SIGKILL") grace ??= setTimeout(() => child.kill("SIGKILL"), graceMs);
  }
  function beat(): void {
    clearTimeout(beats);
    const ms = goodForMs();
    goodUntil = Date.now() + ms;
    if (ms === 0) return stop("guard");
    if (terms.isBusy?.() && Date.now() - lastWord > (terms.quietMs ?? QUIET_MS)) return stop("quiet");
    child.allow(ms);
    beats = setTimeout(beat, Math.min(MAX_BEAT_MS, ms / 4)).unref();
  }
  const abort = (): void => stop("killed", "SIGTERM");
  signal.addEventListener("abort", abort, { once: true });
  beat();
  if (signal.aborted) abort();

  const ended = new Promise<ChildEnd>((resolve) => {
    function finish(code: number | null, killedBy: NodeJS.Signals | null, limit: string | undefined): void {
      if (end) return;
      for (const timer of [beats, grace, starting]) clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      hidden.remove();
      const why = limit === undefined ? (cause ?? causeOf(code, killedBy, Date.now() > goodUntil)) : "limit";
      const message = `${SENTENCES[why]}${why === "exited" ? ` Its exit code was ${code ?? killedBy}.` : ""}${limit === undefined ? "" : `: ${limit}.`}`;
      end = { cause: why, code, signal: killedBy, message, stderr: tail.text(terms.secrets ?? []) };
      resolve(end);
      if (code !== null || killedBy !== null) events.emit("exit", code, killedBy);
      else if (events.listenerCount("error") > 0) events.emit("error", new Error(message));
    }
    async function awaitEnd(): Promise<void> {
      const { code, signal: killedBy, limit } = await child.ended;
      const wasStarted = code !== null || killedBy !== null;
      if (wasStarted && !stderr.closed) await Promise.race([once(stderr, "close"), delay(LAST_WORDS_MS)]);
      finish(code, killedBy, limit);
    }
    void awaitEnd();
  });

  return {
    pid: child.pid,
    stdin,
    stdout,
    ended,
    get killed() {
      return cause !== undefined;
    },
    get exitCode() {
      return end?.code ?? null;
    },
    get signalCode() {
      return end?.signal ?? null;
    },
    kill(how) {
      stop("killed", how);
      return end === undefined;
    },
    agree(next) {
      terms = { ...terms, ...next };
      // Without this message, the guard would still apply the old limits.
      if (!end) beat();
    },
    on: (event, listener) => void events.on(event, listener as () => void),
    once: (event, listener) => void events.once(event, listener as () => void),
    off: (event, listener) => void events.off(event, listener as () => void),
  };
}

interface Start {
  readonly deps: SpawnDeps;
  readonly hidden: HiddenArguments;
  readonly goodForMs: number;
}

function startInRoom(request: ChildRequest, { deps, hidden, goodForMs }: Start): SandboxedProcess {
  const { cwd = process.cwd(), env } = request;
  try {
    // Without this check, the error would say that the program is missing.
    if (!statSync(cwd).isDirectory()) throw new Error("It is not a folder.");
    const { sandbox, limits, places } = deps;
    const { before = [], ...room }: ChildRoom = sandbox.walls.files
      ? claudeRoom(request, hidden.files, places)
      : { command: request.command, places };
    return sandbox.start({
      ...room,
      args: [...before, ...hidden.args],
      cwd,
      env: definedOf(env),
      goodForMs,
      ...(limits && { limits }),
    });
  } catch (error) {
    hidden.remove();
    if (isKnownError(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "E2BIG" ? "its options are too large" : "its working folder does not exist";
    throw new Error(`Claude Code could not be started: ${why}.`, { cause: error });
  }
}

function definedOf(env: ChildRequest["env"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function causeOf(code: number | null, signal: NodeJS.Signals | null, wasSilent: boolean): ChildCause {
  if (code === null && signal === null) return "not_started";
  // A shell exits with these codes if the program is missing or cannot be run.
  if (code === 126 || code === 127) return "not_started";
  const isKilled = signal === "SIGKILL" || code === 128 + 9;
  return isKilled && wasSilent ? "guard" : "exited";
}
