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
 * Answers SQL over the rows of a tenant. Throws a known error for a rejected statement, also in the middle of its
 * answer.
 */
interface SqlPort {
  /** Why SQL is off here, as a sentence; undefined if it is on. */
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
      /** Whether the statement may read Claude Code's files too, if the operator allows it. */
      readonly history: boolean;
    },
    signal: AbortSignal,
  ): AsyncGenerator<SqlPart>;
}

/** A part of an answer: first the columns, then bytes in the requested format, then how the statement ended. */
export type SqlPart =
  | {
      readonly kind: "columns";
      readonly columns: readonly { readonly name: string; readonly type: string }[];
      /** A note for the caller about the rows, such as why there are none. */
      readonly notice?: string;
    }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean };

/** What requests about models need from the process that calls the models. */
interface ModelAdmin {
  /** Throws a known error for a model that a request of this tenant may not add. */
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

/** Whether the sandbox is as the operator requires, and its state as text. */
export interface WallsState {
  readonly isKept: boolean;
  /**
   * `brief` is the state of the sandbox in a sentence or two. `says` also has the limits of programs in the sandbox.
   */
  readonly brief: string;
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
   * The name of this process among those that share the store, and a function that tells whether another process is
   * known to have ended.
   */
  readonly process?: { readonly owner: string; readonly isDead: (owner: string) => boolean } | undefined;
  /** Reserves a place in this process for a session that begins with a prompt. Without it, any worker may claim the session. */
  readonly reserve?: Engine["reserve"] | undefined;
  /** Reports that a session may be due. */
  readonly wake?: Engine["wake"] | undefined;
  /** Rejects if an engine outside this process does not answer. */
  readonly engineCheck?: (() => Promise<void>) | undefined;
  /** How many processes answer requests on this store (default: 1). Each process grants its share of a key's limits. */
  readonly apiProcesses?: (() => number) | undefined;
  /** Whether the store has several tenants. If so, no tenant may take all shared places. */
  readonly isShared?: (() => boolean) | undefined;
  /** The queue for the places in which this process drives sessions. */
  readonly drivingQueue?: (() => QueueFigures) | undefined;
  /** Sessions with large messages, which wait for room in the memory of this process. */
  readonly largeSessions?: Pick<LargeSessions, "figures" | "standing"> | undefined;
  /** The queue position of a session whose run is over a cap. Undefined without caps. */
  readonly queuedRun?: ((sessionId: string) => Promise<Standing | undefined>) | undefined;
  /** How many runs of each cap are in progress, and how many wait, by the name of the cap. */
  readonly runLines?: (() => Promise<Readonly<Record<string, RunLine>>>) | undefined;
  /** Whether this process only drives sessions: it answers only `/health` and metrics. */
  readonly isWorker?: boolean | undefined;
  /** Carries drafts between machines, if there are several. `/health` checks it; deleted sessions are announced on it. */
  readonly bus?: Bus | undefined;
  /** Keeps the files that agents make. */
  readonly files?: FileStore | undefined;
  /** Removes the data of a session outside its log: its files, and what agents remember of it. */
  readonly forget?: SessionsDeps["forget"];
  /** Answers SQL. Without it, SQL is off. */
  readonly sql?: SqlPort | undefined;
  /** Reads Claude Code's own sessions. Without it, the history routes are closed. */
  readonly history?: HistoryPort | undefined;
  /** The built console. Without it, the first page is a short description of the server. */
  readonly console?: ConsoleFiles | undefined;
  /**
   * The skills with these names or in these folders. Throws `invalid` for a skill that the operator has not allowed.
   */
  readonly skillsNamed?: (names: readonly string[]) => readonly Skill[];
  /** The schema of a tool that the process has code for. */
  readonly toolNamed?: (name: string) => z.output<typeof ToolSchema> | undefined;
  /** Every tool that the process has code for. */
  readonly tools?: () => readonly ApiTool[];
  /** Runtimes that this process can drive. */
  readonly runtimes?: readonly ("loop" | "claude-code")[];
  /** Checks and starts sessions of Claude Code. Without it, `/api/v1` shows existing sessions but starts none. */
  readonly claude?: ClaudeGate | undefined;
  /** How many days the audit log is kept. Default: 365. */
  readonly auditDays?: number | undefined;
  /** Removes what a session has on disk besides its log. */
  readonly forgetSession?:
    | ((session: { readonly tenant: string; readonly sessionId: string }) => Promise<void>)
    | undefined;
  /** The operator's rules for a key. Without them, a key may use everything that this server has. */
  readonly policyOf?: ((principal: Principal) => KeyPolicy) | undefined;
  /** Whether the operator has rules for keys of this name. Without this function, no key has rules. */
  readonly hasKeyRules?: ((name: string) => boolean) | undefined;
  /** The operator's caps for a run, and the names of agents that have caps. Undefined without caps. */
  readonly caps?: { readonly of: (owner: RunOwner) => readonly Cap[]; readonly agents: readonly string[] } | undefined;
  /** What a key may do, in sentences. */
  readonly explainKey?: ((principal: Principal) => Promise<readonly string[]>) | undefined;
  /** The state of the sandbox around programs that a model can control. */
  readonly walls?: (() => Promise<WallsState>) | undefined;
  /** Reads and writes Claude Code's files. Without it, no session can be adopted, or exported as these files. */
  readonly adoption?: Adoption | undefined;
  /** The models, for requests that ask what a model was sent. Without them, such requests are rejected. */
  readonly models?: ModelCatalog | undefined;
  /** Checks models that requests add, and tries models. Without it, a request can only add the name of a model. */
  readonly modelAdmin?: ModelAdmin | undefined;
  /** The model of agents that name none, if the tenant's list has no default. */
  readonly defaultModel: string;
  /** Version, store and model of this server, for the first page and `/health`. */
  readonly description: {
    readonly version: string;
    readonly store: string;
    readonly model: string;
    /** Whether the answers come from the built-in simulator. */
    readonly simulated?: boolean;
  };
  /** Names that a Host header may have, besides the names of this machine. */
  readonly allowedHosts?: readonly string[];
  /** Origins whose pages may call this server from a browser, besides the server's own origin. */
  readonly allowedOrigins?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** How long sessions are kept, by tenant; without it, sessions are kept for ever. */
  readonly retention?: RetentionDays | undefined;
  /** Sends webhooks. Without it, no webhooks are sent. */
  readonly webhookSender?: WebhookSender;
  /** The delays before the retries of a failed webhook, in milliseconds. */
  readonly webhookRetryMs?: readonly number[];
  /** How many sessions this process drives now. */
  readonly driven?: (() => number) | undefined;
  /** Receives the spans of runs. Without it, nothing is traced. */
  readonly telemetry?: Telemetry | undefined;
  /** Whether spans contain the content of messages and tool calls. */
  readonly traceContent?: boolean | undefined;
  /** Receives one line per request and per bug, without secrets. */
  readonly log?: ((line: Readonly<Record<string, unknown>>) => void) | undefined;
  /** If false, only bugs are logged, not requests. */
  readonly logRequests?: boolean | undefined;
  readonly now?: () => number;
}
