import type { Cap, SessionState, SpendGate } from "@skein/core";
import type { ReportedUsage } from "../../sandboxes/model-broker/usage-of-answer.ts";
import { reportedCost } from "./budget.ts";
import type { PassRules } from "../../sandboxes/model-broker/index.ts";

/**
 * Counts the cost of Claude Code against the operator's caps. The model broker reserves money for a model call before
 * it forwards the call. Skein cannot see model calls that do not pass the broker. Their cost is taken from the log when
 * the work on the session ends.
 */
export interface Payments {
  /** Begins to count the cost of a session. Returns the function that ends the count. */
  begin(state: () => SessionState): () => Promise<void>;
  /** Returns a function that reserves money for a model call of this session's process. */
  payFor(sessionId: string): NonNullable<PassRules["pay"]>;
  /** Returns why a cap rejected the last model call of this session. Returns undefined if the money was enough. */
  refusal(sessionId: string): string | undefined;
}

/** The average number of bytes in a token. */
const BYTES_PER_TOKEN = 4;

interface Payer {
  readonly state: () => SessionState;
  /**
   * The caps at the beginning of the work on the session. The state of a session keeps the API key of a prompt only
   * until its run ends, so the caps could not be found later.
   */
  readonly caps: readonly Cap[];
  paid: bigint;
  refusal: string | undefined;
}

export function createPayments(spend: SpendGate | undefined, simulated: boolean): Payments {
  const driven = new Map<string, Payer>();
  return {
    begin(state) {
      const { sessionId, costPicos } = state();
      const payer: Payer = { state, caps: spend?.capsOf(state()) ?? [], paid: 0n, refusal: undefined };
      driven.set(sessionId, payer);
      return async () => {
        driven.delete(sessionId);
        const picos = BigInt(state().costPicos) - BigInt(costPicos) - payer.paid;
        if (picos > 0n && payer.caps.length > 0)
          await spend?.settleNamed(sessionId, { name: crypto.randomUUID(), picos, caps: payer.caps });
      };
    },
    refusal: (sessionId) => driven.get(sessionId)?.refusal,
    payFor: (sessionId) => async (call) => {
      const payer = driven.get(sessionId);
      if (!spend || !payer || payer.caps.length === 0) return { settle() {} };
      const name = crypto.randomUUID();
      const { model, maxTokens, own } = call;
      const isFree = simulated && !own;
      const terms = { simulated: isFree, price: own?.price, asksNobody: true, isWhole: true };
      const asked = { model, maxTokens, name, inputTokens: Math.ceil(call.bytes / BYTES_PER_TOKEN) };
      const answer = await spend.reserve(payer.state(), { ...asked, ...terms }, AbortSignal.timeout(60_000));
      payer.refusal = answer.kind === "refused" ? answer.sentence : undefined;
      if (answer.kind !== "granted") return payer.refusal ?? "";
      return {
        settle(usage: ReportedUsage | undefined) {
          const picos = isFree || !usage ? 0n : reportedCost(model, usage, own?.price);
          payer.paid += picos;
          void spend.settleNamed(sessionId, { name, picos, caps: payer.caps }).catch(() => undefined);
        },
      };
    },
  };
}
