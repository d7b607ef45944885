import type { Bus, Engine, FileStore, KeyPolicy, Live, SessionsDeps, Store } from "@skein/core";
import type { ApiTool, SqlExample, SqlTable, ToolSchema } from "@skein/protocol";
import type { z } from "zod";
import type { Adoption } from "./dialects/claude/adoption.ts";
import type { ClaudeGate } from "./dialects/claude/gate.ts";
import type { HistoryPort } from "./history-port.ts";
import type { Principal } from "./keys.ts";
import type { ConsoleFiles } from "./http/console.ts";
import type { Limits } from "./http/limits.ts";
import type { WebhookSender } from "./webhooks/webhook-deliveries.ts";

/** Answers SQL over the rows of a tenant. Refuses with a known error, before the first part or after it. */
interface SqlPort {
  /** Why statements are not answered here; undefined if they are. */
  problem?(): string | undefined | Promise<string | undefined>;
  /** Every table that statements can read, with its columns and what they mean. */
  tables?(
    asking: { readonly tenant: string; readonly timeMs: number },
    signal: AbortSignal,
  ): Promise<readonly SqlTable[]>;
  /** Questions to begin with. */
  examples?(): readonly SqlExample[];
  ask(
    question: {
      readonly tenant: string;
      readonly statement: string;
      readonly format: "jsonl" | "arrow";
      readonly timeMs: number;
      readonly rows: number;
      readonly bytes: number;
      /** Whether Claude Code's files may be asked too, where the operator opened them. */
      readonly history: boolean;
    },
    signal: AbortSignal,
  ): AsyncGenerator<SqlPart>;
}

/** A part of an answer: first the columns, then bytes in the format that was asked for, then how it ended. */
export type SqlPart =
  | { readonly kind: "columns"; readonly columns: readonly { readonly name: string; readonly type: string }[] }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean };

/** Whether the operator's rule about the sandbox is kept, and a sentence that says how things stand. */
export interface WallsState {
  readonly isKept: boolean;
  readonly says: string;
}

/** What a server needs of the process it runs in. */
export interface ServerDeps {
  readonly store: Store;
  /** The text of steps while it is made. */
  readonly live: Live;
  /** This process among those that share the store, and whether another one is known to be gone. */
  readonly process?: { readonly owner: string; readonly isDead: (owner: string) => boolean } | undefined;
  /** Where sessions that begin with a prompt are driven; without it, by whoever finds them. */
  readonly reserve?: Engine["reserve"] | undefined;
  /** Says that a session may be due. */
  readonly wake?: Engine["wake"] | undefined;
  /** Whether what drives sessions answers, if it is outside of this process. */
  readonly engineCheck?: (() => Promise<void>) | undefined;
  /** How many processes answer requests on this store: each grants its share of what a key may use. One unless told. */
  readonly apiProcesses?: (() => number) | undefined;
  /** Whether this process only drives sessions: it says how it does, and answers no other request. */
  readonly isWorker?: boolean | undefined;
  /** What carries drafts between machines, if there are several: asked how it does, and told what is gone. */
  readonly bus?: Bus | undefined;
  /** Where files that agents make are kept. */
  readonly files?: FileStore | undefined;
  /** Removes what is kept of a session beside its log: its files, and what agents remember of it. */
  readonly forget?: SessionsDeps["forget"];
  /** Who answers SQL; without one nobody does. */
  readonly sql?: SqlPort | undefined;
  /** Who reads Claude Code's own sessions; without one they are closed. */
  readonly history?: HistoryPort | undefined;
  /** The built console; without it the first page says what runs here. */
  readonly console?: ConsoleFiles | undefined;
  /** The schema of a tool that the process has code for. */
  readonly toolNamed?: (name: string) => z.output<typeof ToolSchema> | undefined;
  /** Every tool that the process has code for. */
  readonly tools?: () => readonly ApiTool[];
  /** Runtimes that this process can drive. */
  readonly runtimes?: readonly ("loop" | "claude-code")[];
  /** What stands before Claude Code; without it `/api/v1` shows what is there and begins nothing. */
  readonly claude?: ClaudeGate | undefined;
  /** The operator's rules for a key; without them a key may use everything that is here. */
  readonly policyOf?: ((principal: Principal) => KeyPolicy) | undefined;
  /** How the walls stand around programs that a model can steer. */
  readonly walls?: (() => Promise<WallsState>) | undefined;
  /** Who reads and writes Claude Code's files; without one no session is adopted or sent back. */
  readonly adoption?: Adoption | undefined;
  /** The model of agents that name none, where the tenant's list has no default. */
  readonly defaultModel: string;
  /** What answers, said on the first page and by `/health`. */
  readonly description: {
    readonly version: string;
    readonly store: string;
    readonly model: string;
    /** Whether the model is the simulator, which is not Claude. */
    readonly simulated?: boolean;
  };
  /** Names that a Host header may have besides this machine's own. */
  readonly allowedHosts?: readonly string[];
  /** Origins of pages that may call from a browser, besides the server's own. */
  readonly allowedOrigins?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** Who sends webhooks; without one there are none. */
  readonly webhookSender?: WebhookSender;
  /** When a webhook that failed is tried again. */
  readonly webhookRetryMs?: readonly number[];
  /** How many sessions this process drives now. */
  readonly driven?: (() => number) | undefined;
  /** Where spans of runs are sent (OTLP over HTTP); without one nothing is traced. */
  readonly traceEndpoint?: string | undefined;
  /** One line per request and per bug, without secrets. */
  readonly log?: ((line: Readonly<Record<string, unknown>>) => void) | undefined;
  /** False for bugs alone. */
  readonly logRequests?: boolean | undefined;
  readonly now?: () => number;
}
