import type { QueuedPrompt, Runtime, Sandbox, SandboxMode, SessionState, SpendGate } from "@skein/core";
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
import { type DriveDeps, kindOf, startOf } from "./session-child.ts";
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
  /** Reserves money before model calls, if the operator has caps. */
  readonly spend?: SpendGate | undefined;
  /** Whether the built-in simulation is at `apiEnv`: its answers are marked and cost nothing. */
  readonly simulated?: boolean;
  /** Models that have an address and a key of their own. */
  readonly ownModels?: DriveDeps["ownModels"];
  /** Path of a `claude` to use instead of the SDK's own. */
  readonly executable?: string | undefined;
  /**
   * Called before each start of a process. Returns the sandbox of the session's processes, and their connection to the
   * model. Without a sandbox the processes have the rights of this server's user. Throws an error if a sandbox is
   * required and missing.
   */
  readonly walls?: (mode: SandboxMode) => Promise<ClaudeWalls | undefined>;
  /** Starts the processes. Default: guarded processes, which end with this server, even if it is killed. */
  readonly spawn?: Spawn;
  /** The options of a run, with the operator's values in place of their names, and with secrets restored. */
  readonly optionsOf?: (state: SessionState, prompt: QueuedPrompt) => Promise<ResolvedOptions>;
  readonly hooksOf?: DriveDeps["hooksOf"];
  readonly refused?: DriveDeps["refused"];
  readonly children?: ChildPoolOptions;
  /**
   * How long a lease is valid without a renewal. It is longer than the loop's lease, because no fence can stop effects of a
   * child.
   */
  readonly leaseMs?: number;
  /** How long a process is kept while a question waits for its answer. After that the session waits without a process. */
  readonly parkAfterMs?: number;
  /**
   * How long a process may be silent after its prompt. The time is long, because a start takes long on a busy machine.
   */
  readonly firstWordMs?: number;
}

/** Claude Code as a runtime, on the unmodified Claude Agent SDK. Reasons: decision 075. */
export interface ClaudeCode extends Runtime {
  /**
   * If a process for a new session with these options is already started, returns the id that the session must have.
   * Otherwise returns undefined, and the session can have any id.
   */
  reserve(tenant: string, options: Partial<ClaudeOptions>): string | undefined;
  /** What a session with these options would have. */
  offer(session: { readonly tenant: string; readonly sessionId: string }, options: ResolvedOptions): Promise<Offer>;
  /** The number of processes, and the memory that they use. */
  figures(): Promise<ProcessFigures>;
  /** Ends the idle process of a session that was deleted. */
  drop(sessionId: string): void;
  /**
   * Ends every idle process. Working processes end with their drive. Resolves when the `SessionEnd` hooks were called.
   */
  close(): Promise<void>;
}

/** How long a process may take to report its offer. */
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
        // The lease is not released but expires: the next driver then counts this failure against the run.
        if (!isKnownError(error, "lease_lost", "not_found", "closed")) deps.report(error);
      }
    },
    reserve: (tenant, options) => children.reserve(kindOf(tenant, options)),
    figures: children.figures,
    async offer({ tenant, sessionId }, options) {
      const late = AbortSignal.timeout(OFFER_MS);
      const giveUp = await children.place(tenant, late);
      if (!giveUp)
        throw new KnownError("closed", "Claude Code is busy: all of its processes are at work. Ask again later.");
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

/** The options as they are stored: for a server on which the operator registered no names. */
async function plainOptions(state: SessionState, prompt: QueuedPrompt): Promise<ResolvedOptions> {
  const options = optionsOf(state, prompt);
  return { ...options, cwd: options.cwd ?? tmpdir() };
}

async function guardedSpawn(walls: ClaudeWalls | undefined): Promise<Spawn> {
  const sandbox = walls?.sandbox ?? (await openNone());
  if (!sandbox)
    throw new KnownError(
      "invalid",
      "Claude Code cannot be started: there is no bash on this machine to guard it. Install bash.",
    );
  const limits = walls?.limits;
  return createSpawnChild({
    sandbox,
    ...(limits && { limits }),
    folder: join(tmpdir(), `skein-claude-${userInfo().uid}`),
  });
}
