import { setTimeout as delay } from "node:timers/promises";
import type {
  CanUseTool,
  HookJSONOutput,
  Options,
  PermissionResult,
  Query,
  SDKMessage,
  SDKUserMessage,
  SessionStoreEntry,
  SpawnOptions,
  SpawnedProcess,
} from "@anthropic-ai/claude-agent-sdk";
import type { ClaudeSdk } from "./sdk.ts";
import type { FactOf, SandboxPlace } from "@skein/core";
import { type WaysOutStart, openWays } from "./sandbox-connections.ts";
import type { BudgetMeter } from "./budget.ts";
import { writeBackups } from "./backups.ts";
import { type ChildTerms, type GuardedChild } from "./process-guard/index.ts";
import { createInbox } from "./inbox.ts";
import { markFolder, removeSessionFiles } from "./child-folders.ts";
import { createOutputLimits } from "./output-limits.ts";
import { createPromptUrls } from "./prompt-urls.ts";
import type { SessionModels } from "./session-models.ts";
import { BACKUPS, type Entry, type Transcript, uuidOf } from "./transcript.ts";

/**
 * Starts the process for the SDK. A guarded process has additional methods for limits and for the reason of its end.
 */
export type Spawn = (
  options: SpawnOptions,
  places?: readonly SandboxPlace[],
) => SpawnedProcess & Partial<Pick<GuardedChild, "agree" | "ended" | "pid">>;

/** The part of a session that hooks can use. */
export interface HookBridge {
  readonly runId: () => string | null;
  /** Records that a hook was called. If the child is idle, the call is not recorded. */
  readonly wrote: (fact: FactOf<"hook.called">) => Promise<void>;
}

/**
 * The code that works on the session at the moment. A child without a driver is idle: its messages are ignored, and its
 * requests are rejected.
 */
interface Driver extends HookBridge {
  /** The limits of the process while it has this driver. */
  readonly terms: ChildTerms;
  message(message: SDKMessage): void;
  /** Stores entries of the transcript. Resolves when the entries are durable. */
  append(entries: readonly Entry[], subpath: string | null): Promise<void>;
  canUseTool: CanUseTool;
  /** Counts the cost of the model calls that pass the model broker, and reports when the limit is reached. */
  readonly budget?: BudgetMeter;
  /** Waits until the log has the start of a tool call. Resolves to false if the start could not be stored. */
  begins(toolUseId: string): Promise<boolean>;
}

/** The reason why a child has ended. */
interface ChildGone {
  readonly code: "runtime_died" | "buffer_exceeded" | "runtime_silent";
  readonly message: string;
}

/** A process of Claude Code for a session. */
export interface Child {
  readonly sessionId: string;
  /** Identifies the start options that cannot be changed while the process runs. */
  readonly key: string;
  readonly query: Query;
  readonly configDir: string;
  readonly ended: Promise<ChildGone>;
  /** Resolves when the process has ended and its `SessionEnd` hooks were called. */
  readonly told: Promise<void>;
  readonly isOver: boolean;
  /** The id of the outermost process, such as the sandbox. Undefined before the start. */
  readonly pid: number | undefined;
  /**
   * The number of transcript entries that the process knows. If the log has more entries, another process wrote them,
   * and this process is out of date.
   */
  entries: number;
  /** The parts of the transcript that are already in the log: uuids of entries, and copies of files. */
  readonly stored: Set<string>;
  /** The model and the permission mode, which can be changed while the process runs. */
  readonly now: { model: string | undefined; permissionMode: Options["permissionMode"] };
  readonly models: SessionModels;
  /** True if the process calls models through the broker. The process can then use any model of its session. */
  readonly isBrokered: boolean;
  /** Returns the token limit of an answer, or undefined if it is unknown. */
  mostOutput(apiMessageId: string): number | undefined;
  send(message: SDKUserMessage): void;
  attach(driver: Driver): void;
  detach(): void;
  /** Closes the connection to the process, which ends the process. */
  end(): void;
  /** Kills the process immediately. */
  kill(): void;
}

export interface ChildDeps {
  readonly sdk: ClaudeSdk;
  readonly spawn: Spawn;
}

export interface ChildStart extends WaysOutStart {
  readonly sessionId: string;
  readonly tenant: string;
  readonly key: string;
  readonly hooksOf: (bridge: HookBridge) => Options["hooks"];
  /** Reads the transcript to resume from, when a process is started. Returns null for a new session. */
  readonly transcript: () => Promise<Transcript | null>;
  /** Selects the part of the transcript for the process. Default: the whole transcript. */
  readonly shown?: (transcript: Transcript) => Transcript;
  /** The paths that the process sees in its sandbox, besides its folders. */
  readonly places?: readonly SandboxPlace[];
  /** True if the process starts before it has a prompt. */
  readonly ahead?: boolean;
  /** Kills the process if nobody waits for it any more, even while it is starting. */
  readonly givenUp?: AbortSignal;
}

/** Tools without side effects, which may run twice. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "Read",
  "Glob",
  "Grep",
  "LS",
  "ToolSearch",
  "TodoWrite",
  "AskUserQuestion",
  "StructuredOutput",
]);

/** Returns true if a call of this tool may have side effects. Such a call begins only after its start is in the log. */
export const hasEffect = (toolName: string): boolean => !WITHOUT_EFFECT.has(toolName);

const MAXIMUM_LATE = 100;

/** The time limit of the hook PreToolUse, in seconds. The call gates have a shorter time limit. */
const GATE_TIMEOUT = 3600;

/**
 * The limits of an idle process. The process may be silent. Its guard ends the process if this server sends the guard
 * nothing for 21 seconds.
 */
const IDLE: ChildTerms = { isBusy: () => false, goodForMs: () => 21_000 };

const NOT_RECORDED: HookJSONOutput = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "This call was not run: its start could not be recorded. Try again.",
  },
};

const NOT_ALLOWED: HookJSONOutput = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "The policy of this server does not let this session use this tool.",
  },
};

const NOBODY: PermissionResult = { behavior: "deny", message: "This session is idle: no worker runs it." };

export async function startChild(start: ChildStart, { sdk, spawn }: ChildDeps): Promise<Child> {
  const { sessionId } = start;
  const outputs = createOutputLimits(start.options.env?.["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]);
  let driver: Driver | undefined;
  const now: Child["now"] = { model: start.options.model, permissionMode: start.options.permissionMode };
  const prompted = createPromptUrls();
  const about = { model: () => now.model, budget: () => driver?.budget, onBegun: outputs.note, ...prompted };
  const transcript = await start.transcript();
  const shown = transcript && (start.shown?.(transcript) ?? transcript);
  if (transcript) prompted.noteTranscript(transcript);
  const inbox = createInbox();
  /** Keeps transcript entries of an idle child until the next turn. Without a lease, this server cannot write them. */
  let late: { readonly entries: readonly Entry[]; readonly subpath: string | null }[] = [];
  let process: ReturnType<Spawn> | undefined;
  let configDir = start.options.env?.["CLAUDE_CONFIG_DIR"] ?? "";
  let isOver = false;
  let killed = false;
  let wasPrompted = false;

  // If a process was killed before its first append, it has left a file. The SDK rejects a session id with a file.
  if (!transcript) removeSessionFiles(configDir, sessionId);
  // The driver changes with each run, but the hooks stay the same for the whole process.
  const hooks = start.hooksOf({
    runId: () => driver?.runId() ?? null,
    wrote: async (fact) => driver?.wrote(fact),
  });
  const ways = await openWays(start, about);
  const options = ways ? ways.options : start.options;
  const all: Options = {
    ...options,
    ...(transcript ? { resume: sessionId } : { sessionId }),
    sessionStoreFlush: "eager",
    sessionStore: {
      async append({ subpath = null }, entries) {
        if (driver) return driver.append(entries, subpath);
        if (late.length < MAXIMUM_LATE) late.push({ entries, subpath });
      },
      load: async ({ subpath }) => (shown?.get(subpath ?? "") ?? null) as SessionStoreEntry[] | null,
      listSubkeys: async () => [...(transcript?.keys() ?? [])].filter((key) => key !== "" && !key.startsWith(BACKUPS)),
    },
    // The SDK does not allow both `canUseTool` and `permissionPromptToolName`.
    ...(!options.permissionPromptToolName && {
      canUseTool: async (name, input, context) => driver?.canUseTool(name, input, context) ?? NOBODY,
    }),
    hooks: {
      ...hooks,
      PreToolUse: [
        {
          timeout: GATE_TIMEOUT,
          hooks: [
            async (input, toolUseId) => {
              if (input.hook_event_name !== "PreToolUse") return {};
              if (start.allowsTool?.(input.tool_name) === false) return NOT_ALLOWED;
              if (input.agent_id !== undefined) return {};
              if (!toolUseId || !hasEffect(input.tool_name)) return {};
              return (await driver?.begins(toolUseId)) ? {} : NOT_RECORDED;
            },
          ],
        },
        ...(hooks?.PreToolUse ?? []),
      ],
    },
    spawnClaudeCodeProcess(request) {
      // The SDK gives a resumed session a new folder, which lacks the file copies that a rewind needs.
      configDir = request.env["CLAUDE_CONFIG_DIR"] ?? configDir;
      markFolder(configDir);
      if (transcript) writeBackups(transcript, configDir, sessionId);
      process = spawn(request, [...(start.places ?? []), ...(ways?.places ?? [])]);
      if (killed) process.kill("SIGKILL");
      process.agree?.(driver?.terms ?? IDLE);
      return process;
    },
  };

  start.givenUp?.addEventListener("abort", () => {
    killed = true;
    process?.kill("SIGKILL");
  });
  const startQuery = async (): Promise<Query> =>
    start.ahead
      ? (await sdk.startup({ options: all })).query(inbox.messages())
      : sdk.query({ prompt: inbox.messages(), options: all });
  const query = await startQuery().catch(async (error: unknown) => {
    await ways?.close();
    throw error;
  });

  const ended = listen();
  async function listen(): Promise<ChildGone> {
    let problem = "";
    try {
      for await (const message of query) driver?.message(message);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    isOver = true;
    const end = await gone(problem, process);
    await ways?.close();
    removeSessionFiles(configDir, sessionId);
    return end;
  }

  /** Calls the `SessionEnd` hooks. The SDK calls them after `/clear`, but not at the end of a process. */
  async function tellEnd(): Promise<void> {
    await ended;
    if (!wasPrompted) return;
    const said = { hook_event_name: "SessionEnd", reason: "other", transcript_path: "" } as const;
    const input = { ...said, session_id: sessionId, cwd: options.cwd ?? "" };
    const { signal } = new AbortController();
    const listeners = (hooks?.SessionEnd ?? []).flatMap((matcher) => matcher.hooks);
    await Promise.allSettled(listeners.map((tell) => tell(input, undefined, { signal })));
  }

  return {
    sessionId,
    key: start.key,
    query,
    ended,
    told: tellEnd(),
    get configDir() {
      return configDir;
    },
    get isOver() {
      return isOver;
    },
    get pid() {
      return process?.pid;
    },
    entries: [...(transcript?.values() ?? [])].reduce((sum, { length }) => sum + length, 0),
    stored: new Set([...(transcript ?? [])].flatMap(storedIn)),
    now,
    models: start.models,
    isBrokered: ways !== undefined,
    mostOutput: outputs.of,
    send(message) {
      wasPrompted = true;
      prompted.note(message.message.content);
      inbox.put(message);
    },
    attach(next) {
      driver = next;
      ways?.pass.open();
      process?.agree?.(next.terms);
      const waited = late;
      late = [];
      // The driver reports the error.
      for (const { entries, subpath } of waited) next.append(entries, subpath).catch(() => undefined);
    },
    detach() {
      driver = undefined;
      ways?.pass.shut();
      process?.agree?.(IDLE);
    },
    end() {
      inbox.end();
      query.close();
    },
    kill() {
      killed = true;
      isOver = true;
      process?.kill("SIGKILL");
      inbox.end();
      query.close();
    },
  };
}

function storedIn([subpath, entries]: readonly [string, readonly Entry[]]): readonly string[] {
  if (subpath.startsWith(BACKUPS)) return [subpath];
  return entries.flatMap((entry) => uuidOf(entry) ?? []);
}

/** Returns why the process ended. Uses the guard's report, or the SDK's error if the guard reports nothing. */
async function gone(problem: string, process: ReturnType<Spawn> | undefined): Promise<ChildGone> {
  const end = await Promise.race([process?.ended, delay(1000, undefined, { ref: false })]);
  if (!end) return { code: "runtime_died", message: `Claude Code ended before its turn ended. ${problem}`.trim() };
  const message = end.stderr === "" ? end.message : `${end.message} Its last output on stderr: ${end.stderr}`;
  if (end.cause === "message_too_large") return { code: "buffer_exceeded", message };
  return { code: end.cause === "quiet" || end.cause === "start_timeout" ? "runtime_silent" : "runtime_died", message };
}
