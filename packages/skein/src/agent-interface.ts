import type { Answered, FileStore, AgentMemory, Sessions, Store, Tool, Validate } from "@skein/core";
import type { Content, Draft, Event, Format, NewAgentConfig } from "@skein/protocol";
import type { z } from "zod";
import type { AgentResult } from "./agent-result.ts";

export interface AgentOptions extends Omit<Partial<z.input<typeof NewAgentConfig>>, "tool_schemas"> {
  readonly tools?: readonly Tool[];
  /** Other agents that this one may call, as tools of their names. */
  readonly subagents?: readonly Agent[];
  /** Checks a final answer: a sentence that it returns, or the one of `[false, sentence]`, goes back to the model. */
  readonly validate?: Validate;
  /** What the agent remembers across sessions. Without one, `memory_store_type` names one that comes with Skein. */
  readonly memory?: AgentMemory;
  /** Where files that code execution makes are kept: an open store, a folder, or `s3://BUCKET/PREFIX`. */
  readonly files?: FileStore | string;
  /** Where sessions live: `memory:` (the default), `sqlite:FILE`, `file:FOLDER`, `postgres://…`, or an open store. */
  readonly store?: string | Store;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  /** A model on whose connection nothing arrives for longer is given up and asked again. */
  readonly silenceMs?: number;
  readonly leaseMs?: number;
}

export interface RunOptions {
  /** Go on with this session instead of a new one. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: Event) => void;
  readonly maxCostMicros?: number;
  /** Another model than the session's, for this run. */
  readonly model?: string;
  /** While a run is under way: wait for its end (the default), be read before its next step, or take its place. */
  readonly mode?: "queue" | "steer" | "interrupt";
}

/** Of a run that is there already, whose prompt has said the rest. */
export type WatchOptions = Pick<RunOptions, "signal" | "onEvent">;

/** An agent that can be run: in this process, on whichever store it was given. */
export interface Agent {
  readonly name: string;
  /** Runs one prompt to its end, or until it waits for somebody. */
  run(prompt: Content, options?: RunOptions): Promise<AgentResult>;
  /** The same as a stream: facts as they are stored, and the text of a step while it is made. */
  stream(prompt: Content, options?: RunOptions): AsyncIterable<Event | Draft>;
  /** The same as text in the agent's own `formatter`, or in another one: a frame per item, or pieces of XML. */
  text(prompt: Content, options?: RunOptions & { readonly format?: Format }): AsyncIterable<string>;
  /**
   * Answers calls that a run waits for, its subagents' included, and goes on with it.
   *
   * Each answer is told what became of it; only if all are refused this is an error (`not_awaiting`).
   */
  answer(
    sessionId: string,
    answers: readonly Answer[],
    options?: WatchOptions,
  ): Promise<AgentResult & { readonly answers: readonly Answered[] }>;
  /** Goes on with a session of an earlier process: waits for what is under way to end. */
  resume(sessionId: string, options?: WatchOptions): Promise<AgentResult>;
  /** The run that is under way as a stream, until it is over or waits; nothing of what was there before. */
  follow(sessionId: string, options?: Pick<RunOptions, "signal">): AsyncIterable<Event | Draft>;
  readonly sessions: () => Promise<Sessions>;
  close(): Promise<void>;
}

export interface Answer {
  readonly toolUseId: string;
  readonly content: Content;
  readonly isError?: boolean;
}
