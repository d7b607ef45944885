import { type Fact, type ModelPrice, exactCost, priceCall } from "@skein/protocol";
import { callIn } from "../log/counted-call.ts";
import type { SessionState } from "../log/state.ts";
import type { Timers } from "../ports/timers.ts";
import type { Cap, RunOwner } from "./caps.ts";
import { ownerOf } from "./run-owner.ts";
import type { SpendLedger } from "./spend-ledger.ts";

/**
 * The result of a reservation of money for a model call. `maxTokens` is the longest answer that the reservation pays
 * for.
 */
export type Spending =
  | { readonly kind: "granted"; readonly maxTokens: number }
  | { readonly kind: "ask" }
  | { readonly kind: "refused"; readonly sentence: string };

/** A call of a model that is about to be made. */
interface PaidCall {
  readonly model: string;
  /** The price that the operator gave the model. */
  readonly price?: ModelPrice | undefined;
  /** True if the built-in simulation answers. It costs nothing. */
  readonly simulated?: boolean | undefined;
  readonly inputTokens: number;
  /** The longest answer that the caller wants. */
  readonly maxTokens: number;
  /** Identifies one of several concurrent calls of a session. */
  readonly name?: string;
  /** True if nobody can answer a question during this run. The run then continues until it reaches the cap. */
  readonly asksNobody?: boolean;
  /** True if the caller cannot ask for a shorter answer. The reservation then pays for `maxTokens` or is refused. */
  readonly isWhole?: boolean;
}

/** Estimates the input tokens of the next call, with a safety margin. */
export function mostInputTokens({ agent, contextTokens, usage }: SessionState): number {
  const isMeasured = usage.input_tokens + (usage.cache_read_input_tokens ?? 0) > 0;
  const fixed = isMeasured ? 0 : JSON.stringify(agent ?? {}).length / 2;
  return Math.ceil(contextTokens * 1.5 + fixed) + 200;
}

/** Reserves money for model calls against the operator's caps. */
export interface SpendGate {
  /** Whether a cap on spending applies to the session's run. */
  applies(state: SessionState): boolean;
  /** Reserves money before a call. Waits for a while if other calls have reserved the rest of a cap. */
  reserve(state: SessionState, call: PaidCall, signal: AbortSignal): Promise<Spending>;
  /** Settles the reservation of a call that has ended. `facts` contain the cost of the call. */
  settle(state: SessionState, facts: readonly Fact[]): Promise<void>;
  /** Returns the caps for the run in progress, or for the next run. Must be called before the run ends. */
  capsOf(state: SessionState): readonly Cap[];
  /** Settles the reservation of a named call that has ended. */
  settleNamed(sessionId: string, call: NamedCost): Promise<void>;
}

/** The name and the cost of a call that has ended, and the caps that the cost counts against. */
interface NamedCost {
  readonly name: string;
  readonly picos: bigint;
  readonly caps: readonly Cap[];
}

export interface SpendGateDeps {
  readonly ledger: SpendLedger;
  readonly capsOf: (owner: RunOwner) => readonly Cap[];
  readonly timers: Timers;
  readonly now: () => number;
}

/** How long a call waits for money that other calls have reserved, and how often it checks. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 250;

export function createSpendGate({ ledger, capsOf, timers, now }: SpendGateDeps): SpendGate {
  const capsFor = (state: SessionState): readonly Cap[] => spendCaps(capsOf(ownerOf(state)));

  return {
    applies: (state) => capsFor(state).length > 0,
    async reserve(state, call, signal) {
      const caps = capsFor(state);
      const input = priceOf(call, { input_tokens: call.inputTokens, output_tokens: 0 });
      const perToken = priceOf(call, { input_tokens: 0, output_tokens: 1 });
      if (input === undefined || perToken === undefined) return { kind: "refused", sentence: unpriced(call, caps) };
      const most = input + perToken * BigInt(call.maxTokens);
      const spender = spenderOf(state, call.name);
      const until = now() + PATIENCE_MS;
      for (;;) {
        const reserved = await ledger.reserve(spender, call.asksNobody ? caps.map(unasked) : caps, most);
        if (reserved.kind === "granted") {
          const tokens = perToken === 0n ? call.maxTokens : Number((reserved.picos - input) / perToken);
          const least = call.isWhole ? call.maxTokens : 1;
          if (tokens >= least) return { kind: "granted", maxTokens: Math.min(tokens, call.maxTokens) };
          await ledger.settle(spender, caps);
          return { kind: "refused", sentence: tooLittle(caps, least) };
        }
        if (reserved.kind !== "busy") return reserved;
        if (now() >= until) return { kind: "refused", sentence: reserved.sentence };
        await timers.sleep(LOOK_MS, signal);
        if (signal.aborted) return { kind: "refused", sentence: reserved.sentence };
      }
    },
    async settle(state, facts) {
      const costs = facts.map((fact) => callIn(fact)?.cost).map((cost) => (cost ? exactCost(cost).total : 0n));
      const { spent, ...spender } = spenderOf(state);
      await ledger.settle({ ...spender, spent: costs.reduce((sum, cost) => sum + cost, spent) }, capsFor(state));
    },
    capsOf: capsFor,
    settleNamed: (sessionId, { name, picos, caps }) => ledger.settle({ sessionId, call: name, spent: picos }, caps),
  };
}

export function spendCaps(caps: readonly Cap[]): readonly Cap[] {
  return caps.filter(({ spend }) => spend !== undefined);
}

/**
 * Returns the spender for the ledger. The spending of a named call starts at zero, because other calls of the session
 * run at the same time.
 */
export function spenderOf({ sessionId, costPicos }: SessionState, call?: string) {
  return call === undefined ? { sessionId, spent: BigInt(costPicos) } : { sessionId, call, spent: 0n };
}

function priceOf(
  { model, price, simulated }: PaidCall,
  usage: { readonly input_tokens: number; readonly output_tokens: number },
): bigint | undefined {
  if (simulated) return 0n;
  const cost = priceCall(model, usage, price);
  return cost && exactCost(cost).total;
}

function unasked(cap: Cap): Cap {
  return { ...cap, askAt: undefined };
}

function unpriced({ model }: PaidCall, caps: readonly Cap[]): string {
  return `The model ${model} has no price, so the daily cap of the ${names(caps)} cannot be enforced. Give the model a price, use another model, or remove the cap.`;
}

function tooLittle(caps: readonly Cap[], tokens: number): string {
  const answer = tokens === 1 ? "another call of the model" : `an answer of ${tokens} tokens, as the call requests`;
  return `The rest of today's cap of the ${names(caps)} does not pay for ${answer}.`;
}

function names(caps: readonly Cap[]): string {
  return caps.map(({ of }) => of).join(", the ");
}
