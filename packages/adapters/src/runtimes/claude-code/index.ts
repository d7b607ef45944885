import { type Runtime, type SessionState, type QueuedPrompt } from "@skein/core";
import { type ClaudeOptions, KnownError, isKnownError } from "@skein/protocol";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { timers } from "../../engines/timers.ts";
import { createSpawnChild, findContainment } from "./child/index.ts";
import type { Spawn } from "./child.ts";
import { type ChildPoolOptions, createChildPool } from "./child-pool.ts";
import { driveSession } from "./drive.ts";
import { type ResolvedOptions, optionsOf } from "./options.ts";
import { loadSdk } from "./sdk.ts";
import { type DriveDeps, kindOf } from "./session-child.ts";
import { abandonedSessions, removeSessionFiles, sweepFolders } from "./child-folders.ts";

export type { Spawn } from "./child.ts";
export { messageIdOf } from "./message-id.ts";
export { type ResolvedOptions, optionsOf } from "./options.ts";
export type { HookSession } from "./session-child.ts";

export interface ClaudeCodeDeps extends Pick<
  DriveDeps,
  "store" | "states" | "live" | "now" | "ids" | "report" | "configDirOf" | "apiEnv"
> {
  /** Another `claude` than the SDK's own. */
  readonly executable?: string | undefined;
  /** Starts the processes. Without it they are guarded: they end with this server, whatever becomes of it. */
  readonly spawn?: Spawn;
  /** The options of a run, with names replaced by what the operator registered under them, and secrets put back. */
  readonly optionsOf?: (state: SessionState, prompt: QueuedPrompt) => Promise<ResolvedOptions>;
  readonly hooksOf?: DriveDeps["hooksOf"];
  readonly children?: ChildPoolOptions;
  /** How long a session is held at a time. Effects of a child cannot be fenced, so it is longer than the loop's. */
  readonly leaseMs?: number;
  /** How long a question keeps its process; after that the session waits without one. */
  readonly parkAfterMs?: number;
  /** How long a process may be silent after its prompt. A start takes long on a busy machine; one that is up answers at once. */
  readonly firstWordMs?: number;
}

/** Claude Code as a runtime, on the unmodified Claude Agent SDK. */
export interface ClaudeCode extends Runtime {
  /**
   * The id for a new session whose process is already up: one with these options, as the session will keep them. None if
   * none is ready; then any id will do.
   */
  reserve(tenant: string, options: Partial<ClaudeOptions>): string | undefined;
  /** Ends the idle process of a session that is gone. */
  drop(sessionId: string): void;
  /** Ends the idle process of a session, and removes what Claude Code has of it on disk. */
  forget(tenant: string, sessionId: string): void;
  /** Removes what killed servers have left of sessions that are no longer there. */
  sweep(tenants: readonly string[]): Promise<void>;
  /** Ends every process that is idle. Those that work end with their drive. Resolves when `SessionEnd` hooks were told. */
  close(): Promise<void>;
}

export function createClaudeCode(deps: ClaudeCodeDeps): ClaudeCode {
  const { leaseMs = 30_000, parkAfterMs = 120_000, firstWordMs = 120_000 } = deps;
  let guarded: Promise<Spawn> | undefined;
  const children = createChildPool(async () => {
    const spawn = deps.spawn ?? (await (guarded ??= guardedSpawn()));
    return { sdk: await loadSdk(), spawn };
  }, deps.children);
  const driveDeps: DriveDeps = {
    ...deps,
    children,
    timers,
    leaseMs,
    parkAfterMs,
    firstWordMs,
    executable: deps.executable,
    optionsOf: deps.optionsOf ?? plainOptions,
    hooksOf: deps.hooksOf ?? (() => undefined),
  };
  return {
    async drive(claimed, signal) {
      try {
        await driveSession(claimed, signal, driveDeps);
      } catch (error) {
        children.drop(claimed.lease.sessionId);
        // The lease is left to run out: whoever takes the session up then counts it against the run.
        if (!isKnownError(error, "lease_lost", "not_found", "closed")) deps.report(error);
      }
    },
    reserve: (tenant, options) => children.reserve(kindOf(tenant, options)),
    drop: children.drop,
    forget(tenant, sessionId) {
      children.drop(sessionId);
      removeSessionFiles(deps.configDirOf(tenant), sessionId);
    },
    async sweep(tenants) {
      for (const tenant of tenants)
        for (const sessionId of abandonedSessions(deps.configDirOf(tenant), Date.now()))
          if (!(await deps.store.get(sessionId, { tenant }))) removeSessionFiles(deps.configDirOf(tenant), sessionId);
    },
    close: children.close,
  };
}

/** The options as they are stored, for a process that registers nothing. */
async function plainOptions(state: SessionState, prompt: QueuedPrompt): Promise<ResolvedOptions> {
  const options = optionsOf(state, prompt);
  return { ...options, cwd: options.cwd ?? tmpdir() };
}

async function guardedSpawn(): Promise<Spawn> {
  sweepFolders();
  const containment = await findContainment();
  if (!containment)
    throw new KnownError(
      "invalid",
      "Claude Code cannot be started: there is no bash on this machine to guard it. Install bash.",
    );
  return createSpawnChild({ containment, folder: join(tmpdir(), `skein-claude-${userInfo().uid}`) });
}
