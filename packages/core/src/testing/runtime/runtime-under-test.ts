import type { Event, Ids, JsonObject, Usage } from "@skein/protocol";
import type { Live } from "../../live/live.ts";
import type { Engine } from "../../ports/engine.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { SessionAgent } from "../../sessions/agents.ts";
import type { StateCache } from "../../log/state-cache.ts";
import type { Store } from "../../ports/store.ts";

/** What the scripted model says at one step. In a text, `$LAST` is the result of the last call. A script repeats its last step. */
export interface ModelStep {
  readonly text?: string;
  readonly tools?: readonly ScriptedCall[];
  /** Billed in place of what was counted. */
  readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number };
  /** Characters per delta, and the pause between two. */
  readonly chunk?: number;
  readonly chunkDelayMs?: number;
  /** The model never answers. */
  readonly hang?: true;
  /** An error instead of an answer: a number of times, or always. */
  readonly error?: {
    readonly status: number;
    readonly message?: string;
    readonly times?: number;
    readonly retryAfter?: number;
  };
}

/** A call that the model asks for, under the name that the runtime has for it. */
export interface ScriptedCall {
  readonly name: string;
  readonly input?: JsonObject;
}

/** A request that the model got, and what it billed for it. */
export interface ModelRequestSeen {
  readonly outcome: "open" | "answered" | "faulted" | "rejected" | "aborted";
  readonly model: string | null;
  readonly usage: Usage | null;
  /** The body as the model got it. */
  readonly request: unknown;
}

/** What the runtime shares with the process that it is part of. */
export interface ProcessParts {
  readonly store: Store;
  readonly states: StateCache;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  readonly report: (error: unknown) => void;
}

/** How the agent of a test differs from the usual one, which may have every effect without asking. */
export interface AgentUnderTest {
  /** A person must allow each effect. */
  readonly asks?: boolean;
  readonly model?: string;
  /** What a session may cost over all its runs. */
  readonly maxCostMicros?: number;
}

/** A runtime with everything around it. It is opened once for the whole contract. */
export interface RuntimeUnderTest {
  /** An empty store. The contract closes it. */
  readonly store: () => Promise<Store>;
  readonly engine: (deps: {
    readonly store: Store;
    readonly runtime: Runtime;
    readonly owner: string;
    readonly report: (error: unknown) => void;
  }) => Engine;
  /** The runtime of one process. `close` ends what outlives its drives. */
  readonly runtime: (parts: ProcessParts) => { readonly runtime: Runtime; readonly close: () => Promise<void> };
  readonly agent: (options: AgentUnderTest) => SessionAgent;
  /** The text of a prompt that makes the model say these steps. */
  readonly prompt: (steps: readonly ModelStep[], label: string) => string;
  /** What the model was asked for the prompts of this label, oldest first. */
  readonly asked: (label: string) => readonly ModelRequestSeen[];
  readonly calls: {
    /** Has the effect of this name, and says `did NAME`. It needs an approval if the agent `asks`. */
    readonly effect: (name: string) => ScriptedCall;
    /** Has the effect, and does not end before `go`. */
    readonly held: (name: string) => ScriptedCall;
    /** Asks a person this question; the result has the answer in it. */
    readonly question: (question: string) => ScriptedCall;
    /** Waits for a result from the client. */
    readonly frontend?: (name: string) => ScriptedCall;
    /** Hands a prompt to a subagent. */
    readonly subagent: (prompt: string) => ScriptedCall;
  };
  /** Whether the runtime has taken this prompt into the turn that is under way, where it does so before the log says it. */
  readonly hasInHand?: (events: readonly Event[], content: string) => boolean;
  /** How often the effect of this name happened, counted outside of everything that could forget it. */
  readonly effects: (name: string) => number;
  /** Lets the held call of this name end. */
  readonly go: (name: string) => void;
  readonly close: () => Promise<void>;
}

/** A fact of a log: the n-th of its type, from 1. */
export type FactPlace = readonly [type: string, nth: number];

/** What a runtime cannot do, and why. */
export interface RuntimeExceptions {
  /** It has no tools that the client runs. */
  readonly frontend?: string;
  /** It calls the model although no money is left. */
  readonly spentBefore?: string;
  /** It keeps no limit of cost on a model without a price. */
  readonly unpriced?: string;
  /** It does not know all that its subagents were billed. */
  readonly subagentUsage?: string;
  /** What subagents cost does not count against a limit. */
  readonly subagentCost?: string;
  /** The lease is taken over after these facts of a tool turn instead of after each. */
  readonly everyFact?: { readonly reason: string; readonly instead: readonly FactPlace[] };
}
