import type { KeyPolicy, QueuedPrompt, Runtime, Sandbox, SandboxMode, SessionState, SpendGate } from "@skein/core";
import { type ClaudeOptions, KnownError, isKnownError } from "@skein/protocol";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { timers } from "../../engines/timers.ts";
import { openNone } from "../../sandboxes/none.ts";
import { createSpawnChild } from "./process-guard/index.ts";
import type { ChildDeps, Spawn } from "./claude-child.ts";
import { type ChildPoolOptions, type ProcessFigures, createChildPool } from "./child-pool.ts";
import type { ClaudeWalls } from "./claude-walls.ts";
import { driveSession } from "./drive.ts";
import { type ResolvedOptions, optionsOf } from "./options.ts";
import { createPayments } from "./payments.ts";
import { loadSdk } from "./sdk.ts";
import { type Offer, askOffer } from "./offer.ts";
import { type DriveDeps, startOf } from "./session-child.ts";
import { kindOf } from "./session-kind.ts";
import { sweepFolders } from "./child-folders.ts";

export type { Spawn } from "./claude-child.ts";
export type { ProcessFigures } from "./child-pool.ts";
export type { ClaudeWalls } from "./claude-walls.ts";
export { type OwnModels, namedModels } from "./session-models.ts";
export { messageIdOf } from "./message-id.ts";
export { type ResolvedOptions, optionsOf } from "./options.ts";
export type { HookSession } from "./session-child.ts";

export { abandonedSessions, removeSessionFiles } from "./child-folders.ts";

export interface ClaudeCodeDeps extends Pick<
  DriveDeps,
  "store" | "states" | "live" | "now" | "ids" | "report" | "configDirOf" | "apiEnv"
> {
  /** Reserves money for a model call if the operator has set caps. */
  readonly spend?: SpendGate | undefined;
  /** True if `apiEnv` leads to the built-in simulation. Its answers are marked and cost nothing. */
  readonly simulated?: boolean;
  /** The models with a separate address and API key. */
  readonly ownModels?: DriveDeps["ownModels"];
  /** The path of another `claude`. Default: the SDK's `claude`. */
  readonly executable?: string | undefined;
  /**
   * Returns the sandbox of a process and its connection to the model. Without a sandbox, the process has the rights of
   * this server's user. Throws if a sandbox is required but missing.
   */
  readonly walls?: (mode: SandboxMode) => Promise<ClaudeWalls | undefined>;
  /** Starts the processes. Default: guarded processes, which also end if this server is killed. */
  readonly spawn?: Spawn;
  /** Returns the options of a run. Names are replaced by the operator's values, and secrets are restored. */
  readonly optionsOf?: DriveDeps["optionsOf"];
  readonly hooksOf?: DriveDeps["hooksOf"];
  readonly refused?: DriveDeps["refused"];
  readonly children?: ChildPoolOptions;
  /**
   * The length of a lease. It is longer than the loop's lease, because a worker that has lost its lease can no longer
   * write to the store, but the effects of its child continue.
   */
  readonly leaseMs?: number;
  /** If a question waits longer for its answer, the process ends. The session then waits without a process. */
  readonly parkAfterMs?: number;
  /** The largest silence of a process after its prompt. It is long, because a start takes long on a busy machine. */
  readonly firstWordMs?: number;
}

/**
 * The runtime Claude Code, with the unmodified Claude Agent SDK. Reasons: decision 075 in docs/decisions.
 */
export interface ClaudeCode extends Runtime {
  /**
   * Reserves a process that was started in advance for a session with these options, whose key has these rules. Returns
   * the id that the session must have. Without such a process, returns undefined, and the session can have any id.
   */
  reserve(tenant: string, options: Partial<ClaudeOptions>, rules?: KeyPolicy): string | undefined;
  /** Returns what a session with these options would have, such as tools and models. */
  offer(session: { readonly tenant: string; readonly sessionId: string }, options: ResolvedOptions): Promise<Offer>;
  /** The number of processes, and the memory that they use. */
  figures(): Promise<ProcessFigures>;
  /** Ends the idle process of a session that was deleted. */
  drop(sessionId: string): void;
  /**
   * Ends every idle process, and waits for the `SessionEnd` hooks. A working process ends when the work on its session
   * stops.
   */
  close(): Promise<void>;
}

/** The time limit for an offer. */
const OFFER_MS = 30_000;

export function createClaudeCode(deps: ClaudeCodeDeps): ClaudeCode {
  sweepFolders();
  const { leaseMs = 30_000, parkAfterMs = 120_000, firstWordMs = 120_000 } = deps;
  const guarded = new Map<Sandbox | undefined, Promise<Spawn>>();
  const childDeps = async (walls: ClaudeWalls | undefined): Promise<ChildDeps> => {
    if (deps.spawn) return { sdk: await loadSdk(), spawn: deps.spawn };
    const spawn = guarded.get(walls?.sandbox) ?? guardedSpawn(walls);
    guarded.set(walls?.sandbox, spawn);
    return { sdk: await loadSdk(), spawn: await spawn };
  };
  const children = createChildPool(childDeps, deps.children);
  const driveDeps: DriveDeps = {
    ...deps,
    children,
    payments: createPayments(deps.spend, deps.simulated === true),
    simulated: deps.simulated === true,
    walls: deps.walls ?? (async () => undefined),
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
        // The lease expires instead of being released. The worker that takes the session over then counts this failure
        // against the run.
        if (!isKnownError(error, "lease_lost", "not_found", "closed")) deps.report(error);
      }
    },
    reserve: (tenant, options, rules) => children.reserve(kindOf(tenant, options, rules)),
    figures: children.figures,
    async offer({ tenant, sessionId }, options) {
      const late = AbortSignal.timeout(OFFER_MS);
      const giveUp = await children.place(tenant, late);
      if (!giveUp)
        throw new KnownError("closed", "Claude Code is busy, because all its processes are at work. Ask again later.");
      try {
        const start = await startOf({ sessionId, tenant, options, env: {} }, driveDeps);
        return await askOffer(start, await childDeps(start.walls), late);
      } finally {
        giveUp();
      }
    },
    drop: children.drop,
    close: children.close,
  };
}

/** Returns the stored options, with a default folder. Used if the caller gives no `optionsOf`. */
async function plainOptions(state: SessionState, prompt: QueuedPrompt): Promise<ResolvedOptions> {
  const options = optionsOf(state, prompt);
  return { ...options, cwd: options.cwd ?? tmpdir() };
}

async function guardedSpawn(walls: ClaudeWalls | undefined): Promise<Spawn> {
  const opened = walls ?? (await openNone());
  if ("problem" in opened) throw new KnownError("invalid", `Claude Code cannot be started. ${opened.problem}`);
  const limits = walls?.limits;
  return createSpawnChild({
    sandbox: opened.sandbox,
    ...(limits && { limits }),
    folder: join(tmpdir(), `skein-claude-${userInfo().uid}`),
  });
}
