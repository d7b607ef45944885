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
   * Folders with skills: each is a skill (it has a SKILL.md), or contains folders that are skills. The model loads them when it needs
   * them.
   */
  readonly skills?: readonly string[];
  /** Checks a final answer. If it returns a sentence or `[false, sentence]`, the model gets the sentence and answers again. */
  readonly validate?: Validate;
  /** Functions around model calls and tool calls: they may watch, change or reject calls. */
  readonly hooks?: Hooks;
  /**
   * The type of the final answer: a zod 4 schema, or a Standard Schema that can give its JSON Schema. The field `output`
   * of a result has the answer in this type.
   */
  readonly output?: OutputSchema<Output>;
  /** What the agent remembers across sessions. To use a memory of Skein instead, name it in `memory_store_type`. */
  readonly memory?: AgentMemory;
  /** Where files that code execution makes are kept: an open store, a folder, or `s3://BUCKET/PREFIX`. */
  readonly files?: FileStore | string;
  /**
   * Where sessions are stored: `memory:` (the default), `sqlite:FILE`, `file:FOLDER`, `postgres://…`, or an open store.
   */
  readonly store?: string | Store;
  /** Models that this program adds, by name: settings, or model objects of the AI SDK (`{ "google/gemini-3-pro": google("gemini-3-pro") }`). */
  readonly models?: GivenModels;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  /** A model call is retried if its connection is silent for longer than this. */
  readonly silenceMs?: number;
  readonly leaseMs?: number;
}

export interface RunOptions<Tools extends readonly Tool[] = readonly Tool[]> {
  /** Continue this session instead of creating a new one. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  /** Called with each event: one function for all, or one for each type of event. */
  readonly onEvent?: ((event: Event) => void) | EventListeners<Tools>;
  readonly maxCostMicros?: number;
  /** Another model for this run, instead of the session's. */
  readonly model?: string;
  /** What to do while another run is in progress: `queue` waits for its end (the default), `steer` is read before its next step, `interrupt` cancels it. */
  readonly mode?: "queue" | "steer" | "interrupt";
}

/** The options for watching an existing run. */
export type WatchOptions<Tools extends readonly Tool[] = readonly Tool[]> = Pick<
  RunOptions<Tools>,
  "signal" | "onEvent"
>;

/** An agent that runs in this process, on the store it was given. */
export interface Agent<Output = unknown, Tools extends readonly Tool[] = readonly Tool[]> {
  readonly name: string;
  /** Runs one prompt until the run is over or waits for an answer. */
  run(prompt: Content, options?: RunOptions<Tools>): Promise<AgentResult<Output, Tools>>;
  /**
   * Like `run`, as a stream: facts as they are stored, and the text of a step while it is generated. `partial` is the
   * typed answer so far.
   */
  stream(prompt: Content, options?: RunOptions<Tools>): AsyncIterable<Event | PartialDraft<Output>>;
  /** Like `run`, as text in the agent's `formatter` or in `format`: one frame per item, or pieces of XML. */
  text(prompt: Content, options?: RunOptions<Tools> & { readonly format?: Format }): AsyncIterable<string>;
  /**
   * Answers calls that a run or its subagents wait for, and follows the run until it is over or waits again.
   *
   * The result has the disposition of each answer. If all answers are rejected, this throws `not_awaiting`.
   */
  answer(
    sessionId: string,
    answers: readonly Answer[],
    options?: WatchOptions<Tools>,
  ): Promise<AgentResult<Output, Tools> & { readonly answers: readonly Answered[] }>;
  /** Continues a session of an earlier process: waits until its run is over. */
  resume(sessionId: string, options?: WatchOptions<Tools>): Promise<AgentResult<Output, Tools>>;
  /** Streams the run in progress until it is over or waits. Earlier events are left out. */
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
