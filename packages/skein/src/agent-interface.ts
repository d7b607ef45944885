import type {
  Answered,
  FileStore,
  AgentMemory,
  Hooks,
  OutputSchema,
  Sessions,
  Store,
  Tool,
  Validate,
} from "@skein/core";
import type { Content, Event, Format, NewAgentConfig } from "@skein/protocol";
import type { z } from "zod";
import type { AgentResult } from "./agent-result.ts";
import type { EventListeners } from "./event-listeners.ts";
import type { GivenModels } from "./model-catalog.ts";
import type { PartialDraft } from "./partial-output.ts";

export interface AgentOptions<Output = unknown, Tools extends readonly Tool[] = readonly Tool[]> extends Omit<
  Partial<z.input<typeof NewAgentConfig>>,
  "tool_schemas" | "output_schema" | "skills"
> {
  readonly tools?: Tools;
  /** Agents that this agent may call. For the model, a subagent is a tool with the name of the subagent. */
  readonly subagents?: readonly Agent[];
  /**
   * Folders with skills. A folder is a skill with a SKILL.md, or contains such folders. The model loads a skill when a
   * task needs it.
   */
  readonly skills?: readonly string[];
  /**
   * Checks a final answer. If it returns a sentence or `[false, sentence]`, the model gets the sentence and answers
   * again.
   */
  readonly validate?: Validate;
  /** Functions that may watch, change or reject model calls and tool calls. */
  readonly hooks?: Hooks;
  /**
   * The type of the final answer: a zod 4 schema, or a Standard Schema with a JSON Schema. `output` of a result has the
   * answer in this type.
   */
  readonly output?: OutputSchema<Output>;
  /** A custom agent memory. To use an agent memory of Skein instead, set `memory_store_type`. */
  readonly memory?: AgentMemory;
  /** The storage for files from code execution: an open file store, a folder, or `s3://BUCKET/PREFIX`. */
  readonly files?: FileStore | string;
  /**
   * The store: `memory:` (the default), `sqlite:FILE`, `file:FOLDER`, `postgres://…`, or an open store.
   */
  readonly store?: string | Store;
  /**
   * Additional models by name. A value has settings or is a model object of the AI SDK (`{ "google/gemini-3-pro":
   * google("gemini-3-pro")
   * }`).
   */
  readonly models?: GivenModels;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  /** A model call is retried if no data arrives for this time. */
  readonly silenceMs?: number;
  readonly leaseMs?: number;
}

export interface RunOptions<Tools extends readonly Tool[] = readonly Tool[]> {
  /** Continue this session instead of creating a new one. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  /** A function for all events, or a function for each type of event. */
  readonly onEvent?: ((event: Event) => void) | EventListeners<Tools>;
  readonly maxCostMicros?: number;
  /** A model for this run, instead of the session's model. */
  readonly model?: string;
  /**
   * Says what happens if another run is in progress. `queue`, the default: the prompt waits for the end of that run.
   * `steer`: that run reads the prompt before its next step. `interrupt`: that run is cancelled.
   */
  readonly mode?: "queue" | "steer" | "interrupt";
}

/** The options for watching an existing run. */
export type WatchOptions<Tools extends readonly Tool[] = readonly Tool[]> = Pick<
  RunOptions<Tools>,
  "signal" | "onEvent"
>;

/** An agent that runs in this process. */
export interface Agent<Output = unknown, Tools extends readonly Tool[] = readonly Tool[]> {
  readonly name: string;
  /** Runs one prompt until the run is over or waits for an answer. */
  run(prompt: Content, options?: RunOptions<Tools>): Promise<AgentResult<Output, Tools>>;
  /**
   * Like `run`, but streams events and drafts. `partial` of a draft is the typed answer so far.
   */
  stream(prompt: Content, options?: RunOptions<Tools>): AsyncIterable<Event | PartialDraft<Output>>;
  /** Like `run`, but streams text in the agent's `formatter` or in `format`. An item is a frame or a piece of XML. */
  text(prompt: Content, options?: RunOptions<Tools> & { readonly format?: Format }): AsyncIterable<string>;
  /**
   * Answers awaits (open questions, approvals and frontend tool calls) of a run or its subagents. Follows the run until
   * it is over or waits again.
   *
   * `answers` of the result says for each answer whether the session accepted it. If all answers are rejected, this
   * throws `not_awaiting`.
   */
  answer(
    sessionId: string,
    answers: readonly Answer[],
    options?: WatchOptions<Tools>,
  ): Promise<AgentResult<Output, Tools> & { readonly answers: readonly Answered[] }>;
  /** Continues a session of an earlier process, and waits until its run is over or waits for an answer. */
  resume(sessionId: string, options?: WatchOptions<Tools>): Promise<AgentResult<Output, Tools>>;
  /** Streams the run in progress until it is over or waits for an answer. Leaves out earlier events. */
  follow(sessionId: string, options?: Pick<RunOptions, "signal">): AsyncIterable<Event | PartialDraft<Output>>;
  readonly sessions: () => Promise<Sessions>;
  /** Closes the store and the model. Later calls of the agent are rejected with `closed`. */
  close(): Promise<void>;
}

export interface Answer {
  readonly toolUseId: string;
  readonly content: Content;
  readonly isError?: boolean;
}
