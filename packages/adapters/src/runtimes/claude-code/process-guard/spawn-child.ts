import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Containment } from "./containment.ts";
import { guardOf } from "./guard.ts";
import { type HiddenArguments, hideArguments, sweepHidden } from "./hidden-arguments.ts";
import { createTail, limitLines } from "./child-output.ts";

/** What the SDK wants started: its `SpawnOptions`. */
export interface ChildRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** What holds for a child now. All can change while it runs: a child that was started ahead gets its session later. */
export interface ChildTerms {
  /** For how long, from now, the child may go on without another word of this server: less than its lease is held. */
  readonly goodForMs?: () => number;
  /** Bytes that one message of the child may have. */
  readonly maxMessageBytes?: number;
  /** Whether the child owes an answer, and how long it may be silent then. */
  readonly isBusy?: () => boolean;
  readonly quietMs?: number;
  /** Values that must not show up in what is told of the child. */
  readonly secrets?: readonly string[];
}

/** Why a child ended. */
export type ChildCause =
  /** By itself. */
  | "exited"
  /** It could not be started. */
  | "not_started"
  /** This server ended it because it was asked to. */
  | "killed"
  /** It said nothing at all after its start. */
  | "start_timeout"
  /** It owed an answer and was silent for too long. */
  | "quiet"
  /** One of its messages was larger than it may be. */
  | "message_too_large"
  /** The guard ended it: this server was stopped or busy for longer than its lease allows. */
  | "guard";

export interface ChildEnd {
  readonly cause: ChildCause;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What happened, as a sentence without secrets. */
  readonly message: string;
  /** The end of what it wrote to stderr, without secrets. */
  readonly stderr: string;
}

/** A child as the SDK knows one (`SpawnedProcess`), and what is known of its end. */
export interface GuardedChild {
  /** Of the outermost process, which is the group's too. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly killed: boolean;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
  /** SIGKILL ends it and all that it started at once; others give it a moment before that. */
  kill(signal: NodeJS.Signals): boolean;
  /** Sets terms from here on; what is left out stays. */
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
  readonly containment: Containment;
  /** Where files with secrets are kept while their child lives; made with 0700. */
  readonly folder: string;
  readonly terms?: ChildTerms;
  /** How long a child has to end by itself when it is asked to. */
  readonly graceMs?: number;
  /** How long a child has to say its first word. */
  readonly startMs?: number;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** 0.7 of the 30 s for which the runtime holds its lease. */
const GOOD_FOR_MS = 21_000;
const QUIET_MS = 30 * 60_000;
const GRACE_MS = 2000;
const START_MS = 120_000;
/** How long the end waits for the last words on stderr. */
const LAST_WORDS_MS = 500;
/** A word at least this often, so that a server that hangs is noticed. */
const MAX_BEAT_MS = 2000;

const SENTENCES: Record<ChildCause, string> = {
  exited: "Claude Code ended by itself.",
  not_started: "Claude Code could not be started.",
  killed: "Claude Code was stopped.",
  start_timeout: "Claude Code said nothing after its start and was stopped.",
  quiet: "Claude Code was silent for too long and was stopped.",
  message_too_large: "Claude Code sent a message that is larger than max_buffer_size and was stopped.",
  guard: "Claude Code was stopped because its server had been silent for longer than it may.",
};

/**
 * Starts child processes that end with this server, whatever becomes of it: killed, stopped, or too busy to renew its lease.
 * What it answers fits the SDK's `spawnClaudeCodeProcess`.
 */
export function createSpawnChild(deps: SpawnChildDeps): (request: ChildRequest) => GuardedChild {
  sweepHidden(deps.folder);
  return (request) => spawnChild(request, deps);
}

function spawnChild({ command, args, cwd, env, signal }: ChildRequest, deps: SpawnChildDeps): GuardedChild {
  const { graceMs = GRACE_MS, startMs = START_MS } = deps;
  let terms: ChildTerms = deps.terms ?? {};
  let cause: ChildCause | undefined;
  let end: ChildEnd | undefined;
  let beats: NodeJS.Timeout | undefined;
  let grace: NodeJS.Timeout | undefined;
  let lastWord = Date.now();
  let goodUntil = Infinity;
  const goodForMs = (): number => Math.max(0, terms.goodForMs?.() ?? GOOD_FOR_MS);

  const hidden = hideArguments(args, deps.folder);
  const { prefix, bash } = deps.containment;
  const guarded = [...prefix, ...guardOf(bash, seconds(goodForMs())), command, ...hidden.args];
  const child = startGuarded(guarded, { cwd, env }, hidden);
  const [stdin, rawStdout, stderr, words] = child.stdio as unknown as [Writable, Readable, Readable, Writable];
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
  // Whoever is gone cannot be told anything; its end is heard of below.
  for (const stream of [stdin, words]) stream.on("error", () => {});

  function stop(why: ChildCause, how: NodeJS.Signals = "SIGKILL"): void {
    if (end) return;
    cause ??= why;
    if (how === "SIGKILL") return killAll(child, words);
    words.write(`${how.slice("SIG".length)}\n`);
    grace ??= setTimeout(() => killAll(child, words), graceMs);
  }
  function beat(): void {
    clearTimeout(beats);
    const ms = goodForMs();
    goodUntil = Date.now() + ms;
    if (ms === 0) return stop("guard");
    if (terms.isBusy?.() && Date.now() - lastWord > (terms.quietMs ?? QUIET_MS)) return stop("quiet");
    words.write(`${seconds(ms)}\n`);
    beats = setTimeout(beat, Math.min(MAX_BEAT_MS, ms / 4)).unref();
  }
  const abort = (): void => stop("killed", "SIGTERM");
  signal.addEventListener("abort", abort, { once: true });
  beat();
  if (signal.aborted) abort();

  const ended = new Promise<ChildEnd>((resolve) => {
    function finish(code: number | null, killedBy: NodeJS.Signals | null): void {
      if (end) return;
      for (const timer of [beats, grace, starting]) clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      hidden.remove();
      const why = cause ?? causeOf(code, killedBy, Date.now() > goodUntil);
      const message = `${SENTENCES[why]}${why === "exited" ? ` Its exit code was ${code ?? killedBy}.` : ""}`;
      end = { cause: why, code, signal: killedBy, message, stderr: tail.text(terms.secrets ?? []) };
      resolve(end);
      if (code !== null || killedBy !== null) events.emit("exit", code, killedBy);
      else if (events.listenerCount("error") > 0) events.emit("error", new Error(message));
    }
    child.once("error", () => finish(null, null));
    child.once("exit", (code, killedBy) => {
      // In a namespace nothing is left of it; in a group there may be.
      killAll(child, words);
      if (stderr.closed) return finish(code, killedBy);
      const late = setTimeout(() => finish(code, killedBy), LAST_WORDS_MS);
      stderr.once("close", () => {
        clearTimeout(late);
        finish(code, killedBy);
      });
    });
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
      // The guard is told at once: until its next word it would hold to the terms before.
      if (!end) beat();
    },
    on: (event, listener) => void events.on(event, listener as () => void),
    once: (event, listener) => void events.once(event, listener as () => void),
    off: (event, listener) => void events.off(event, listener as () => void),
  };
}

interface Surroundings extends Pick<ChildRequest, "env"> {
  readonly cwd: string | undefined;
}

function startGuarded(
  [program = "", ...args]: readonly string[],
  { cwd, env }: Surroundings,
  hidden: HiddenArguments,
): ChildProcess {
  try {
    // Without this the answer would be that the program is missing.
    if (cwd !== undefined && !statSync(cwd).isDirectory()) throw new Error("It is no folder.");
    return spawn(program, args, {
      ...(cwd !== undefined && { cwd }),
      env,
      // A group of its own: a signal for this server's terminal is not for the child, and all of it can be killed at once.
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
  } catch (error) {
    hidden.remove();
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "E2BIG" ? "its options are too large" : "its working folder is not there";
    throw new Error(`Claude Code could not be started: ${why}.`, { cause: error });
  }
}

function killAll(child: ChildProcess, words: Writable): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
  // The guard's pipe: whatever of it is still there ends with it.
  words.destroy();
}

function causeOf(code: number | null, signal: NodeJS.Signals | null, wasSilent: boolean): ChildCause {
  if (code === null && signal === null) return "not_started";
  // What a shell says of a program that is missing or cannot be run.
  if (code === 126 || code === 127) return "not_started";
  const isKilled = signal === "SIGKILL" || code === 128 + 9;
  return isKilled && wasSilent ? "guard" : "exited";
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
