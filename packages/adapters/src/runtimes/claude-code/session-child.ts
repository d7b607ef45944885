import {
  type Claimed,
  type DriverLog,
  type DriverLogDeps,
  type Lease,
  type Live,
  type QueuedPrompt,
  type SandboxMode,
  type SessionState,
  commonHosts,
  endWith,
  isAmong,
} from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import type { Options } from "@anthropic-ai/claude-agent-sdk";
import type { Answers } from "./answers.ts";
import type { Child, ChildStart, HookBridge } from "./claude-child.ts";
import type { ChildPool } from "./child-pool.ts";
import type { ClaudeWalls } from "./claude-walls.ts";
import { childEnvironment } from "./environment.ts";
import { modelRefusal } from "./model-refusal.ts";
import { kindOf } from "./session-kind.ts";
import {
  type OwnModels,
  type SessionModels,
  createSessionModels,
  namedModels,
  onlyModelEnvironment,
} from "./session-models.ts";
import { CLAUDE_TOOLS } from "./policy/tool-names.ts";
import { type ResolvedOptions, modelNameOf } from "./options.ts";
import type { Payments } from "./payments.ts";
import { checkReadOnly, placesOf } from "./session-places.ts";
import { sdkOptions } from "./sdk-options.ts";
import { createRecorder } from "./recorder.ts";
import { failRun } from "./end-run.ts";
import { readTranscript } from "./transcript.ts";
import { type Turn, type TurnEnd, runTurn } from "./turn.ts";

export interface DriveDeps extends DriverLogDeps {
  readonly live: Live;
  readonly report: (error: unknown) => void;
  readonly children: ChildPool;
  readonly payments: Payments;
  readonly leaseMs: number;
  readonly parkAfterMs: number;
  readonly firstWordMs: number;
  readonly executable: string | undefined;
  readonly configDirOf: (tenant: string, sessionId: string) => string;
  /** Returns the sandbox of children (processes of Claude Code), or undefined if they run without a sandbox. */
  readonly walls: (mode: SandboxMode) => Promise<ClaudeWalls | undefined>;
  readonly apiEnv: Readonly<Record<string, string>>;
  /** True if `apiEnv` leads to the built-in simulation. */
  readonly simulated: boolean;
  /** The models with a separate address and key. */
  readonly ownModels?: OwnModels | undefined;
  /** Returns the options of a run. `rulesOf` is the session whose rules apply. Default: the session of the state. */
  readonly optionsOf: (state: SessionState, prompt: QueuedPrompt, rulesOf?: string) => Promise<ResolvedOptions>;
  readonly hooksOf: (session: HookSession) => Options["hooks"];
  /** Handles a run that cannot begin because of the operator's rules or the sandbox. */
  readonly refused?: ((session: RefusedSession, why: string) => Promise<void>) | undefined;
}

interface RefusedSession {
  readonly tenant: string;
  readonly sessionId: string;
}

/** The data of a session for its hooks. */
export interface HookSession extends HookBridge {
  readonly sessionId: string;
  readonly tenant: string;
  readonly options: ResolvedOptions;
}

/** Data of a claimed session, for the functions that work on the session. */
export interface Drive {
  readonly claimed: Claimed;
  readonly lease: Lease;
  readonly log: DriverLog;
  readonly answers: Answers;
  readonly signal: AbortSignal;
  readonly deps: DriveDeps;
  /** The number of transcript entries when the session was claimed. */
  readonly entriesBefore: number;
}

/** Ends a run that cannot begin. The run's error has the message of `error`. */
export async function cannotStart({ log, deps, lease }: Drive, error: unknown): Promise<TurnEnd> {
  const message = error instanceof Error ? error.message : String(error);
  const code = isKnownError(error) ? error.code : "agent_error";
  if (!isKnownError(error)) deps.report(error);
  if (isKnownError(error, "not_allowed", "arg_not_allowed"))
    await deps.refused?.({ tenant: log.state.tenant, sessionId: lease.sessionId }, message).catch(deps.report);
  await log.write((batch) => failRun(endWith({ code, message }), batch));
  return "ended";
}

export interface SessionChild {
  readonly child: Child;
  readonly options: ResolvedOptions;
}

/**
 * Returns a child for a run. This is the session's idle child if its options and its transcript are still current.
 * Otherwise, it is a new child that resumes from the log.
 */
export async function childFor(
  drive: Drive,
  prompt: QueuedPrompt,
  {
    env = {},
    fresh = false,
    shown,
  }: Pick<ChildStart, "shown"> & { env?: Record<string, string>; fresh?: boolean } = {},
): Promise<SessionChild> {
  const { log, deps, lease } = drive;
  const { sessionId } = lease;
  const { tenant, transcriptEntries } = log.state;
  const options = await deps.optionsOf(log.state, prompt);
  const { model, permission_mode } = options;
  if (fresh) deps.children.drop(sessionId);
  const child = await deps.children.take(
    {
      ...(await startOf({ sessionId, tenant, options, env }, deps)),
      transcript: async () => (transcriptEntries > 0 ? readTranscript(deps.store, sessionId) : null),
      ...(shown && { shown }),
    },
    (idle) => idle.entries === transcriptEntries,
  );
  if (options.output_style) await checkOutputStyle(child, options.output_style);
  if (child.now.permissionMode !== permission_mode) {
    await child.query.setPermissionMode(permission_mode);
    child.now.permissionMode = permission_mode;
  }
  if (child.now.model !== (model ?? undefined)) {
    await child.query.setModel(model ?? undefined);
    child.now.model = model ?? undefined;
  }
  return { child, options };
}

/** Rejects an unknown output style, because Claude Code would silently use its default style. */
async function checkOutputStyle(child: Child, style: string): Promise<void> {
  const up = await Promise.race([child.query.initializationResult(), child.ended]);
  // If the process did not start, the error is reported elsewhere.
  if (!("available_output_styles" in up) || up.available_output_styles.includes(style)) return;
  child.end();
  const names = up.available_output_styles.join(", ");
  throw new KnownError(
    "invalid",
    `output_style: There is no output style ${JSON.stringify(style)}. There are: ${names}. Styles of a project or a user need setting_sources.`,
  );
}

/**
 * Looks up the model of a run, so that its price is known. Ignores a model that cannot be used: the start of the run
 * reports it.
 */
export async function modelOfRun({ log, deps }: Drive, prompt: QueuedPrompt): Promise<SessionModels> {
  const models = createSessionModels(log.state.tenant, deps);
  const named = modelNameOf(log.state, prompt);
  if (named !== null)
    try {
      await models.reach(named);
    } catch (error) {
      if (!isKnownError(error)) throw error;
    }
  return models;
}

/** Starts a process in advance, for the next session of the same kind. */
export async function prepareNext({ log, deps }: Drive, prompt: QueuedPrompt): Promise<void> {
  const { tenant, agent } = log.state;
  const sessionId = crypto.randomUUID();
  // With its new id, the next session gets a separate working folder. It has no key yet, so it gets this session's
  // rules.
  const options = await deps.optionsOf({ ...log.state, sessionId }, prompt, log.state.sessionId);
  const start = await startOf({ sessionId, tenant, options, env: {} }, deps);
  const kind = kindOf(tenant, agent?.extras["claude"], options.rules);
  deps.children.prepare(kind, { ...start, transcript: async () => null });
}

/** Returns the options for starting a process of a session. */
export async function startOf(
  session: Pick<HookSession, "sessionId" | "tenant" | "options"> & { readonly env: Record<string, string> },
  deps: DriveDeps,
): Promise<Omit<ChildStart, "transcript">> {
  const { sessionId, tenant, options, env } = session;
  const walls = await deps.walls(options.rules?.sandbox ?? "off");
  checkReadOnly(options, walls);
  const models = createSessionModels(tenant, deps);
  const reached = await Promise.all(namedModels(options).map(models.reach));
  const broker = walls?.broker ?? (reached.some(Boolean) ? deps.ownModels?.broker : undefined);
  const apiEnv = broker ? withoutCredentials(deps.apiEnv) : deps.apiEnv;
  const own = options.model ? await models.reach(options.model) : undefined;
  const onlyModel = own && options.model ? onlyModelEnvironment(options.model, own) : {};
  // `key` has no options that can change while a process runs. It contains whether the permission mode is
  // `bypassPermissions`, because a running process cannot change to this mode.
  const {
    model: _model,
    permission_mode,
    include_partial_messages: _partial,
    max_budget_usd: _budget,
    user: _user,
    ...fixed
  } = options;
  const asksNobody = permission_mode === "bypassPermissions";
  return {
    sessionId,
    tenant,
    pay: deps.payments.payFor(sessionId),
    key: JSON.stringify({ ...fixed, asksNobody, onlyModel, isBrokered: broker !== undefined }),
    hooksOf: (bridge) => deps.hooksOf({ ...bridge, sessionId, tenant, options }),
    walls,
    broker,
    models,
    allowsTool: (name) => isAmong(options.rules?.tools, name),
    places: placesOf(options),
    hosts: hostsOf(options, walls),
    ownServers: options.ownServers,
    modelRefusal: (model, current) => modelRefusal(options, { model, current, isOwn: models.termsOf(current).isOwn }),
    options: {
      // Claude Code's sandbox does not work inside Skein's sandbox, which is stricter.
      ...sdkOptions(walls ? { ...options, sandbox: null } : options),
      ...onlyTools(options),
      ...(deps.executable !== undefined && { pathToClaudeCodeExecutable: deps.executable }),
      env: {
        ...childEnvironment(options, {
          configDir: deps.configDirOf(tenant, sessionId),
          apiEnv,
          isWalled: walls !== undefined,
        }),
        ...onlyModel,
        ...env,
      },
    },
  };
}

/** Removes the model's credentials. A process that calls the model through the broker does not need them. */
function withoutCredentials(apiEnv: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(apiEnv).filter(([name]) => !/KEY|TOKEN/.test(name)));
}

/**
 * Returns the hosts that a session may call: the operator's hosts, limited by the rules of the key and by the session's
 * sandbox option. Includes hosts of MCP servers only if the process calls them directly. The policy has checked these
 * hosts.
 */
function hostsOf(
  { mcp_servers, rules, sandbox }: ResolvedOptions,
  { hosts: opened = [], mcpEdge }: Partial<ClaudeWalls> = {},
): readonly string[] {
  const servers = mcpEdge
    ? []
    : Object.values(mcp_servers ?? {}).flatMap(({ url }) => URL.parse(url ?? "")?.hostname ?? []);
  const wantsNone = sandbox?.enabled === true && !sandbox.network_access;
  const own = wantsNone ? [] : commonHosts(rules?.hosts ?? opened, opened);
  return [...own, ...servers];
}

/** Returns the built-in tools that the rules allow. Calls of other tools are rejected. */
function onlyTools({ rules }: ResolvedOptions): Pick<Options, "tools"> {
  if (!rules?.tools) return {};
  return { tools: CLAUDE_TOOLS.filter((name) => isAmong(rules.tools, name)) };
}

/** Connects hooks with the log of the current driver. */
function bridge(log: DriverLog): HookBridge {
  return {
    runId: () => log.state.run?.runId ?? null,
    wrote: (fact) => log.write((batch) => batch.add(fact)).catch(() => undefined),
  };
}

export async function turn(
  drive: Drive,
  session: SessionChild,
  work: Pick<Turn, "runId" | "begin"> & Partial<Pick<Turn, "begun" | "firstWord">>,
): Promise<TurnEnd> {
  const { log, answers, lease, claimed, signal, deps } = drive;
  const { child, options } = session;
  const how = await runTurn(
    {
      child,
      log,
      answers,
      lease,
      claimedMs: claimed.lease.leaseMs,
      clock: claimed.clock,
      cwd: options.cwd,
      checkpoints: options.enable_file_checkpointing,
      unpaid: () => deps.payments.refusal(lease.sessionId),
      maxMessageBytes: options.max_buffer_size ?? null,
      secrets: secretsOf(options, deps.apiEnv),
      signal,
      firstWord: {
        ms: deps.firstWordMs,
        code: "runtime_silent",
        message: "Claude Code sent nothing after its prompt and was stopped. Send the prompt again.",
      },
      begun: Promise.resolve(),
      ...work,
      bridge: bridge(log),
    },
    deps,
  );
  if (how === "ended") deps.children.keep(child);
  return how;
}

/** Stores the transcript entries of a child outside of a turn, until the returned function is called. */
export function recording({ log, deps }: Drive, { child, options }: SessionChild): () => void {
  const recorder = createRecorder({
    ...deps,
    child,
    log,
    runId: null,
    cwd: options.cwd,
    checkpoints: false,
    heard: () => {},
    written: () => {},
    starved: () => {},
  });
  child.attach({
    ...bridge(log),
    terms: {},
    message: () => {},
    append: recorder.append,
    begins: recorder.begins,
    canUseTool: async () => ({ behavior: "deny", message: "No turn is in progress." }),
  });
  return () => child.detach();
}

/**
 * Returns the values that must not appear in errors. Leaves out short values, because they would hide parts of ordinary
 * words.
 */
function secretsOf({ env, mcp_servers }: ResolvedOptions, apiEnv: Readonly<Record<string, string>>): readonly string[] {
  const servers = Object.values(mcp_servers ?? {});
  const all = [apiEnv, env, ...servers.flatMap((server) => [server.env, server.headers])];
  return all.flatMap((one) => Object.values(one)).filter((value) => value.length >= 8);
}
