import type {
  Bus,
  Cap,
  Engine,
  FileStore,
  KeyPolicy,
  LargeSessions,
  Live,
  Model,
  ModelCatalog,
  QueueFigures,
  RunLine,
  RunOwner,
  SessionsDeps,
  Skill,
  Standing,
  Store,
  Telemetry,
} from "@skein/core";
import type { ApiTool, ModelSettings, ModelTrial, SqlExample, SqlTable, ToolSchema } from "@skein/protocol";
import type { z } from "zod";
import type { Adoption } from "./dialects/claude/adoption.ts";
import type { ClaudeGate } from "./dialects/claude/gate.ts";
import type { HistoryPort } from "./history-port.ts";
import type { Principal } from "./keys.ts";
import type { ConsoleFiles } from "./http/console.ts";
import type { Limits } from "./http/limits.ts";
import type { WebhookSender } from "./webhooks/webhook-deliveries.ts";

/**
 * Runs SQL statements over the rows of a tenant. `ask` throws a `KnownError` if the statement is rejected, possibly
 * after some parts of the result were already yielded.
 */
interface SqlPort {
  /** If SQL is off on this server, returns the reason as a sentence. */
  problem?(): string | undefined | Promise<string | undefined>;
  /** Whether the operator allows statements to read the sessions of coding agents. */
  readonly hasHistory?: boolean;
  /** Every table that statements can read, with its columns and what they mean. */
  tables?(
    asking: { readonly tenant: string; readonly timeMs: number },
    signal: AbortSignal,
  ): Promise<readonly SqlTable[]>;
  /** Statements that a newcomer can start with. */
  examples?(): readonly SqlExample[];
  ask(
    question: {
      readonly tenant: string;
      readonly statement: string;
      readonly format: "jsonl" | "arrow";
      readonly timeMs: number;
      readonly rows: number;
      readonly bytes: number;
      /** Whether the statement sees the system prompts of agents without `show_system_prompt`. */
      readonly prompts: boolean;
      /** Whether the statement may also read the sessions of coding agents, if the operator allows it. */
      readonly history: boolean;
    },
    signal: AbortSignal,
  ): AsyncGenerator<SqlPart>;
}

/**
 * A part of a statement's result. The first part has the columns, and the last part has the number of rows. The bytes
 * between them are in the requested format.
 */
export type SqlPart =
  | {
      readonly kind: "columns";
      readonly columns: readonly { readonly name: string; readonly type: string }[];
      /** A note for the caller about the rows, such as why there are none. */
      readonly notice?: string;
    }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean };

/** Checks models that requests add, and tests models with small calls. */
interface ModelAdmin {
  /** Throws a `KnownError` for a model that a request of this tenant may not add. */
  check(model: {
    readonly tenant: string;
    readonly name: string;
    readonly settings: ModelSettings;
    readonly hasKey: boolean;
    /** The model's new key, if the request has one. */
    readonly key?: string | undefined;
  }): void;
  /** Makes one small call for each ability of a model. */
  try(name: string, model: Model, signal: AbortSignal): AsyncIterable<ModelTrial>;
}

/** The state of the sandbox. `isKept` tells whether the sandbox is as the operator requires. */
export interface WallsState {
  readonly isKept: boolean;
  /** The state in a few words, for a list. */
  readonly brief: string;
  /** The state with its reason, what to do, and the limits of programs in the sandbox. */
  readonly says: string;
}

/** How many days the sessions of a tenant are kept after their last event. `*` stands for all other tenants. */
export type RetentionDays = Readonly<Record<string, number>>;

/** What a server needs from the process it runs in. */
export interface ServerDeps {
  readonly store: Store;
  /** Carries the text of a step while the model writes it. */
  readonly live: Live;
  /**
   * The name of this process in the store, and a function that tells whether another process is known to have ended.
   */
  readonly process?: { readonly owner: string; readonly isDead: (owner: string) => boolean } | undefined;
  /**
   * Reserves capacity of this process for a session that begins with a prompt. Without it, any worker may claim the
   * session.
   */
  readonly reserve?: Engine["reserve"] | undefined;
  /** Tells the engine, which gives sessions to workers, that a session may have work to do. */
  readonly wake?: Engine["wake"] | undefined;
  /** The promise rejects if an engine outside this process does not respond. */
  readonly engineCheck?: (() => Promise<void>) | undefined;
  /** How many processes answer requests on this store (default: 1). Each process grants its share of a key's limits. */
  readonly apiProcesses?: (() => number) | undefined;
  /** Whether the store has several tenants. If so, no tenant may use all shared resources. */
  readonly isShared?: (() => boolean) | undefined;
  /** The queue of sessions that wait until this process can work on them. */
  readonly drivingQueue?: (() => QueueFigures) | undefined;
  /** The sessions with large messages. They wait until this process has enough free memory. */
  readonly largeSessions?: Pick<LargeSessions, "figures" | "standing"> | undefined;
  /**
   * Returns the queue position of a session whose run waits because of a cap, which is a limit of the operator.
   * Undefined without caps.
   */
  readonly queuedRun?: ((sessionId: string) => Promise<Standing | undefined>) | undefined;
  /** How many runs of each cap are in progress, and how many wait, by the name of the cap. */
  readonly runLines?: (() => Promise<Readonly<Record<string, RunLine>>>) | undefined;
  /** Whether this process only works on sessions. Such a process answers only `/health` and metrics. */
  readonly isWorker?: boolean | undefined;
  /**
   * Carries the model's unfinished text between machines. The server removes a deleted session from the bus, and
   * `/health` checks the bus.
   */
  readonly bus?: Bus | undefined;
  /** Keeps the files that agents make. */
  readonly files?: FileStore | undefined;
  /** Removes a session's files, and the agent memory about the session. */
  readonly forget?: SessionsDeps["forget"];
  /** Runs SQL statements. Without it, SQL is off. */
  readonly sql?: SqlPort | undefined;
  /** Reads the sessions of coding agents on this machine. Without it, the history routes are closed. */
  readonly history?: HistoryPort | undefined;
  /** The files of the console. Without them, the first page is a short description of the server. */
  readonly console?: ConsoleFiles | undefined;
  /** Returns the skills with these names or folders. Throws `invalid` for a skill that the operator has not allowed. */
  readonly skillsNamed?: (names: readonly string[]) => readonly Skill[];
  /** Returns the schema of a tool that the process has code for. */
  readonly toolNamed?: (name: string) => z.output<typeof ToolSchema> | undefined;
  /** Every tool that the process has code for. */
  readonly tools?: () => readonly ApiTool[];
  /** The runtimes whose sessions this process can run. */
  readonly runtimes?: readonly ("loop" | "claude-code")[];
  /** Checks and starts sessions of Claude Code. Without it, `/api/v1` shows existing sessions but starts none. */
  readonly claude?: ClaudeGate | undefined;
  /** How many days the audit log is kept. Default: 365. */
  readonly auditDays?: number | undefined;
  /** Removes the working folder of a session. */
  readonly forgetSession?:
    | ((session: { readonly tenant: string; readonly sessionId: string }) => Promise<void>)
    | undefined;
  /** The operator's rules for an API key. Without rules, a key may use everything that this server has. */
  readonly policyOf?: ((principal: Principal) => KeyPolicy) | undefined;
  /** Tells whether the operator has rules for keys of this name. Without this function, no key has rules. */
  readonly hasKeyRules?: ((name: string) => boolean) | undefined;
  /**
   * `of` returns the operator's caps for a run. `agents` lists the names of agents with caps. Undefined without caps.
   */
  readonly caps?: { readonly of: (owner: RunOwner) => readonly Cap[]; readonly agents: readonly string[] } | undefined;
  /** Describes in sentences what a key may do. */
  readonly explainKey?: ((principal: Principal) => Promise<readonly string[]>) | undefined;
  /** The state of the sandbox around programs that a model can control. */
  readonly walls?: (() => Promise<WallsState>) | undefined;
  /** Reads and writes Claude Code's files. Without it, no session can be adopted, or exported as these files. */
  readonly adoption?: Adoption | undefined;
  /** The models, for requests that show what Skein sent to a model. Without the models, such requests are rejected. */
  readonly models?: ModelCatalog | undefined;
  /**
   * Checks models that requests add, and tests models with small calls. Without it, a request can only add the name of
   * a model.
   */
  readonly modelAdmin?: ModelAdmin | undefined;
  /** The model of an agent without a model setting, if the tenant's list has no default. */
  readonly defaultModel: string;
  /** Version, store and model of this server, for the first page and `/health`. */
  readonly description: {
    readonly version: string;
    readonly store: string;
    readonly model: string;
    /** Whether the built-in simulation answers instead of a model. */
    readonly simulated?: boolean;
  };
  /** Names that a Host header may have, besides the names of this machine. */
  readonly allowedHosts?: readonly string[];
  /** Other origins whose pages may call this server from a browser. */
  readonly allowedOrigins?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** How long sessions are kept, by tenant; without it, sessions are kept for ever. */
  readonly retention?: RetentionDays | undefined;
  /** Sends webhooks. Without it, no webhooks are sent. */
  readonly webhookSender?: WebhookSender;
  /** The delays before the retries of a failed webhook, in milliseconds. */
  readonly webhookRetryMs?: readonly number[];
  /** The number of sessions on which this process works now. */
  readonly driven?: (() => number) | undefined;
  /** Receives the spans of runs. Without it, nothing is traced. */
  readonly telemetry?: Telemetry | undefined;
  /** Whether spans contain the content of messages and tool calls. */
  readonly traceContent?: boolean | undefined;
  /** Receives one log line for each request and for each unexpected error, without secrets. */
  readonly log?: ((line: Readonly<Record<string, unknown>>) => void) | undefined;
  /** If false, only unexpected errors are logged, not requests. */
  readonly logRequests?: boolean | undefined;
  readonly now?: () => number;
}
