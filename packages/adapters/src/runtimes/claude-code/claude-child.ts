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

/** Starts the process for the SDK. A guarded process accepts limits and reports why it ended. */
export type Spawn = (
  options: SpawnOptions,
  places?: readonly SandboxPlace[],
) => SpawnedProcess & Partial<Pick<GuardedChild, "agree" | "ended" | "pid">>;

/** The access of a hook to its session. */
export interface HookBridge {
  readonly runId: () => string | null;
  /** Records that a hook was called. Never fails: a hook of a session that is no longer driven leaves no record. */
  readonly wrote: (fact: FactOf<"hook.called">) => Promise<void>;
}

/**
 * The driver of the session. A child without a driver is idle: nobody reads its messages, and its requests are rejected.
 */
interface Driver extends HookBridge {
  /** The limits of the process while it is driven. */
  readonly terms: ChildTerms;
  message(message: SDKMessage): void;
  /** Stores entries of the transcript. The child gets the answer when they are durable. */
  append(entries: readonly Entry[], subpath: string | null): Promise<void>;
  canUseTool: CanUseTool;
  /** Counts the money that is spent through the broker, and reports when the limit is reached. */
  readonly budget?: BudgetMeter;
  /** Resolves when the log has the start of this call; false if it could not be stored. */
  begins(toolUseId: string): Promise<boolean>;
}

/** Why a child has ended: a code and a sentence. */
interface ChildGone {
  readonly code: "runtime_died" | "buffer_exceeded" | "runtime_silent";
  readonly message: string;
}

/** One process of Claude Code that serves one session. */
export interface Child {
  readonly sessionId: string;
  /** The start options of the process that cannot be changed while it runs. */
  readonly key: string;
  readonly query: Query;
  readonly configDir: string;
  readonly ended: Promise<ChildGone>;
  /** Resolves when the process has ended and its `SessionEnd` hooks were called. */
  readonly told: Promise<void>;
  readonly isOver: boolean;
  /** The process id of the outermost process; undefined before it is started. */
  readonly pid: number | undefined;
  /**
   * How many entries of the transcript the process knows. If the log has more, another process wrote them, and this
   * process is out of date.
   */
  entries: number;
  /** Which parts of the transcript are in the log already: uuids of entries, and copies of files. */
  readonly stored: Set<string>;
  /** The model and the permission mode, which can be changed while the process runs. */
  readonly now: { model: string | undefined; permissionMode: Options["permissionMode"] };
  readonly models: SessionModels;
  /** Whether the process reaches models through the broker. If so, it can use any model of its session. */
  readonly isBrokered: boolean;
  /** The token limit of an answer; undefined if unknown. */
  mostOutput(apiMessageId: string): number | undefined;
  send(message: SDKUserMessage): void;
  attach(driver: Driver): void;
  detach(): void;
  /** Ends the process after its current work. */
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
  /** The transcript to resume from; null for a new session. Read only when a process has to be started. */
  readonly transcript: () => Promise<Transcript | null>;
  /** The part of the transcript that the process is shown. Default: all of it. */
  readonly shown?: (transcript: Transcript) => Transcript;
  /** What the process sees in addition to its own folders, if it is in a sandbox. */
  readonly places?: readonly SandboxPlace[];
  /** Start the process now and give it its prompt later. */
  readonly ahead?: boolean;
  /** Aborts when nobody waits for the process any longer, also while it is starting. */
  readonly givenUp?: AbortSignal;
}

/** Tools without side effects: running them twice does no harm. */
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

/** Whether a call may have side effects: it then begins only after its start is in the log. */
export const hasEffect = (toolName: string): boolean => !WITHOUT_EFFECT.has(toolName);

const MAXIMUM_LATE = 100;

/** The time limit of the hook, in seconds. It is long, because the call gates have their own time limit. */
const GATE_TIMEOUT = 3600;

/** An idle process need not send anything. Its guard ends it if this server sends nothing for too long. */
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

const NOBODY: PermissionResult = { behavior: "deny", message: "This session is idle: no worker drives it." };

export async function startChild(start: ChildStart, { sdk, spawn }: ChildDeps): Promise<Child> {
  const { sessionId } = start;
  const outputs = createOutputLimits(start.options.env?.["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]);
  let driver: Driver | undefined;
  const now: Child["now"] = { model: start.options.model, permissionMode: start.options.permissionMode };
  const prompted = createPromptUrls();
  const about = { model: () => now.model, budget: () => driver?.budget, onBegun: outputs.note, ...prompted };
  const ways = await openWays(start, about);
  const options = ways ? ways.options : start.options;
  const transcript = await start.transcript();
  const shown = transcript && (start.shown?.(transcript) ?? transcript);
  if (transcript) prompted.noteTranscript(transcript);
  const inbox = createInbox();
  /** Transcript entries of an idle child wait for the next turn, because this server has no lease to write them now. */
  let late: { readonly entries: readonly Entry[]; readonly subpath: string | null }[] = [];
  let process: ReturnType<Spawn> | undefined;
  let configDir = options.env?.["CLAUDE_CONFIG_DIR"] ?? "";
  let isOver = false;
  let killed = false;
  let wasPrompted = false;

  // A process that was killed before its first append has left a file, and the SDK rejects a session id that has a
  // file.
  if (!transcript) removeSessionFiles(configDir, sessionId);
  // The driver changes with each run, but the hooks belong to the process as long as it runs.
  const hooks = start.hooksOf({
    runId: () => driver?.runId() ?? null,
    wrote: async (fact) => driver?.wrote(fact),
  });
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
  /** If the process does not start, everything that was opened for it is closed. */
  const cannotStart = async (error: unknown): Promise<never> => {
    await ways?.close();
    throw error;
  };
  const query = start.ahead
    ? (await sdk.startup({ options: all }).catch(cannotStart)).query(inbox.messages())
    : sdk.query({ prompt: inbox.messages(), options: all });

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

  /** Calls the `SessionEnd` hooks: the SDK calls them only after `/clear`, not at the end of a process. */
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
      // If the driver cannot store the entries, it reports the error itself.
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

/** Why the process ended: what its guard reports, or else what the SDK reports. */
async function gone(problem: string, process: ReturnType<Spawn> | undefined): Promise<ChildGone> {
  const end = await Promise.race([process?.ended, delay(1000, undefined, { ref: false })]);
  if (!end) return { code: "runtime_died", message: `Claude Code ended before its turn did. ${problem}`.trim() };
  const message = end.stderr === "" ? end.message : `${end.message} Its last output on stderr: ${end.stderr}`;
  if (end.cause === "message_too_large") return { code: "buffer_exceeded", message };
  return { code: end.cause === "quiet" || end.cause === "start_timeout" ? "runtime_silent" : "runtime_died", message };
}
