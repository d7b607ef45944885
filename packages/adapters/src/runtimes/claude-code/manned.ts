import type { Claimed, Lease, Live, QueuedPrompt, SessionState, StateCache, Store } from "@skein/core";
import { type Content, type Fact, type Ids, isKnownError } from "@skein/protocol";
import type { Options } from "@anthropic-ai/claude-agent-sdk";
import type { Child } from "./child.ts";
import type { Children } from "./children.ts";
import { childEnvironment } from "./environment.ts";
import { emitFailure } from "./facts.ts";
import type { Log } from "./log.ts";
import { type ResolvedOptions, sdkOptions } from "./options.ts";
import { createRecorder } from "./recorder.ts";
import { readTranscript } from "./transcript.ts";
import { type TurnEnd, runTurn } from "./turn.ts";

export interface DriveDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  readonly report: (error: unknown) => void;
  readonly children: Children;
  readonly leaseMs: number;
  readonly parkAfterMs: number;
  readonly executable: string | undefined;
  readonly configDirOf: (tenant: string) => string;
  readonly apiEnv: Readonly<Record<string, string>>;
  readonly optionsOf: (state: SessionState, prompt: QueuedPrompt) => Promise<ResolvedOptions>;
  readonly hooksOf: (session: HookSession) => Options["hooks"];
}

/** What a hook needs to know about the session that it is called for. */
export interface HookSession {
  readonly sessionId: string;
  readonly tenant: string;
  readonly options: ResolvedOptions;
  readonly runId: () => string | null;
  /** Writes down that a hook was called. Never fails: a hook of a session that nobody drives any more leaves no trace. */
  readonly wrote: (fact: Extract<Fact, { event_type: "hook.called" }>) => Promise<void>;
}

/** What one drive works with. */
export interface Drive {
  readonly claimed: Claimed;
  readonly lease: Lease;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly deps: DriveDeps;
}

export function userMessage(uuid: string, content: Content) {
  return {
    type: "user",
    uuid: uuid as ReturnType<typeof crypto.randomUUID>,
    parent_tool_use_id: null,
    message: { role: "user", content: content as string },
  } as const;
}

/** The run ends because it cannot begin: the sentence says what to do about it. */
export async function cannotStart({ log, deps }: Drive, error: unknown): Promise<TurnEnd> {
  const message = error instanceof Error ? error.message : String(error);
  const code = isKnownError(error) ? error.code : "agent_error";
  if (!isKnownError(error)) deps.report(error);
  await log.write((state, emit) => {
    emitFailure(state, emit, { stopReason: "error", error: { code, message }, now: deps.now() });
  });
  return "ended";
}

/** A child and what it was given. */
export interface Manned {
  readonly child: Child;
  readonly options: ResolvedOptions;
}

/** A child for a run: the session's idle one if nothing has changed, else one that goes on from the log. */
export async function childFor(
  drive: Drive,
  prompt: QueuedPrompt,
  { env = {}, fresh = false }: { env?: Record<string, string>; fresh?: boolean } = {},
): Promise<Manned> {
  const { log, deps, lease } = drive;
  const { sessionId } = lease;
  const { tenant, transcriptEntries } = log.state;
  const options = await deps.optionsOf(log.state, prompt);
  const { model, permission_mode, include_partial_messages: _, ...fixed } = options;
  const key = JSON.stringify(fixed);
  if (fresh) deps.children.drop(sessionId);
  const hooks = deps.hooksOf({
    sessionId,
    tenant,
    options,
    runId: () => log.state.run?.runId ?? null,
    wrote: async (fact) => log.write((_state, emit) => emit(fact)).catch(() => undefined),
  });
  const child = await deps.children.take(
    {
      sessionId,
      key,
      transcript: async () => (transcriptEntries > 0 ? readTranscript(deps.store, sessionId) : null),
      options: {
        ...sdkOptions(options),
        ...(hooks && { hooks }),
        ...(deps.executable !== undefined && { pathToClaudeCodeExecutable: deps.executable }),
        env: {
          ...childEnvironment(options, { configDir: deps.configDirOf(tenant), apiEnv: deps.apiEnv }),
          ...env,
        },
      },
    },
    (idle) => idle.entries === transcriptEntries,
  );
  if (child.now.permissionMode !== permission_mode) {
    await child.query.setPermissionMode(permission_mode);
    child.now.permissionMode = permission_mode;
  }
  if (model && child.now.model !== model) {
    await child.query.setModel(model);
    child.now.model = model;
  }
  return { child, options };
}

export async function turn(drive: Drive, manned: Manned, begin: () => void, changedBefore: readonly string[] = []) {
  const { log, lease, claimed, signal, deps } = drive;
  const { child, options } = manned;
  const how = await runTurn(
    {
      child,
      log,
      lease,
      clock: claimed.clock,
      cwd: options.cwd,
      checkpoints: options.enable_file_checkpointing,
      maxMessageBytes: options.max_buffer_size ?? null,
      secrets: secretsOf(options, deps.apiEnv),
      signal,
      changedBefore,
      begin,
    },
    deps,
  );
  if (how === "ended") deps.children.keep(child);
  return how;
}

/** Keeps what a child writes to its transcript while it has no turn. */
export function recording({ log, deps }: Drive, { child, options }: Manned): () => void {
  const recorder = createRecorder({
    ...deps,
    child,
    log,
    cwd: options.cwd,
    checkpoints: false,
    changedBefore: [],
    heard: () => {},
    written: () => {},
  });
  child.attach({
    terms: {},
    message: () => {},
    append: recorder.append,
    begins: recorder.begins,
    canUseTool: async () => ({ behavior: "deny", message: "There is no turn." }),
  });
  return () => child.detach();
}

/** What no error may repeat: values that only the child should know. Short ones would hide half of every sentence. */
function secretsOf({ env, mcp_servers }: ResolvedOptions, apiEnv: Readonly<Record<string, string>>): readonly string[] {
  const servers = Object.values(mcp_servers ?? {});
  const all = [apiEnv, env, ...servers.flatMap((server) => [server.env, server.headers])];
  return all.flatMap((one) => Object.values(one)).filter((value) => value.length >= 8);
}
