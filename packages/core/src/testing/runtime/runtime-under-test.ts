import type { Event, Ids, JsonObject, Usage } from "@skein/protocol";
import type { Live } from "../../live/live.ts";
import type { Engine } from "../../ports/engine.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { SessionAgent } from "../../sessions/agents.ts";
import type { StateCache } from "../../log/state-cache.ts";
import type { Store } from "../../ports/store.ts";

/**
 * One step of the scripted model. In a text, `$LAST` is the result of the last tool call. A script repeats its last
 * step.
 */
export interface ModelStep {
  readonly text?: string;
  readonly tools?: readonly ScriptedCall[];
  /** The usage that the model reports instead of the counted usage. */
  readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number };
  /** Characters per delta, and milliseconds between two deltas. */
  readonly chunk?: number;
  readonly chunkDelayMs?: number;
  /** If true, the model never answers. */
  readonly hang?: true;
  /** An error instead of an answer: a number of times, or always. */
  readonly error?: {
    readonly status: number;
    readonly message?: string;
    readonly times?: number;
    readonly retryAfter?: number;
  };
}

/** A tool call of the model, with the tool's name in this runtime. */
export interface ScriptedCall {
  readonly name: string;
  readonly input?: JsonObject;
}

/** A request that the model received, and the usage that it reported. */
export interface ModelRequestSeen {
  readonly outcome: "open" | "answered" | "faulted" | "rejected" | "aborted";
  readonly model: string | null;
  readonly usage: Usage | null;
  /** The body as the model got it. */
  readonly request: unknown;
}

/** What the runtime shares with its process. */
export interface ProcessParts {
  readonly store: Store;
  readonly states: StateCache;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  readonly report: (error: unknown) => void;
}

/** The options of the agent in a test. By default, the agent may run every effect without approval. */
export interface AgentUnderTest {
  /** A person must allow each effect. */
  readonly asks?: boolean;
  readonly model?: string;
  /** The most that a session may cost over all its runs. */
  readonly maxCostMicros?: number;
}

/** A runtime and the parts that its tests need. It is opened once for all tests of the contract. */
export interface RuntimeUnderTest {
  /** An empty store. The contract closes it. */
  readonly store: () => Promise<Store>;
  readonly engine: (deps: {
    readonly store: Store;
    readonly runtime: Runtime;
    readonly owner: string;
    readonly report: (error: unknown) => void;
  }) => Engine;
  /** The runtime of one process. `close` stops what still runs after all calls of `drive` have ended. */
  readonly runtime: (parts: ProcessParts) => { readonly runtime: Runtime; readonly close: () => Promise<void> };
  readonly agent: (options: AgentUnderTest) => SessionAgent;
  /** The text of a prompt that makes the model play these steps. */
  readonly prompt: (steps: readonly ModelStep[], label: string) => string;
  /** The requests that the model received for the prompts of this label, oldest first. */
  readonly asked: (label: string) => readonly ModelRequestSeen[];
  readonly calls: {
    /** Runs the effect of this name and returns `did NAME`. It needs an approval if the agent `asks`. */
    readonly effect: (name: string) => ScriptedCall;
    /** Runs the effect of this name. The call ends only after `go` was called with the same name. */
    readonly held: (name: string) => ScriptedCall;
    /** Asks a person this question; the result contains the answer. */
    readonly question: (question: string) => ScriptedCall;
    /** Waits for a result from the client. */
    readonly frontend?: (name: string) => ScriptedCall;
    /** Gives a prompt to a subagent. */
    readonly subagent: (prompt: string) => ScriptedCall;
  };
  /**
   * Whether this prompt is already in the current turn. Only for a runtime that adds a prompt to the turn before the
   * log records it.
   */
  readonly hasInHand?: (events: readonly Event[], content: string) => boolean;
  /** How often the effect of this name happened, counted outside of the processes under test. */
  readonly effects: (name: string) => number;
  /** Ends the call that `held` made with this name. */
  readonly go: (name: string) => void;
  readonly close: () => Promise<void>;
}

/** A fact of a log: the n-th of its type, from 1. */
export type FactPlace = readonly [type: string, nth: number];

/** What a runtime cannot do, and why. */
export interface RuntimeExceptions {
  /** Why the runtime has no tools that the client runs. */
  readonly frontend?: string;
  /** Why the runtime calls the model although no money is left. */
  readonly spentBefore?: string;
  /** Why the runtime enforces no cost limit for a model without a price. */
  readonly unpriced?: string;
  /** Why the runtime does not know everything that its subagents were billed for. */
  readonly subagentUsage?: string;
  /** Why the cost of subagents does not count against a limit. */
  readonly subagentCost?: string;
  /**
   * Why the tests do not take over the lease after every fact, and the facts after which they do. The facts are those
   * of a run with one tool call.
   */
  readonly everyFact?: { readonly reason: string; readonly instead: readonly FactPlace[] };
}
