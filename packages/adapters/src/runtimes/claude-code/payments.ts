import type { Cap, SessionState, SpendGate } from "@skein/core";
import type { ReportedUsage } from "../../sandboxes/model-broker/usage-of-answer.ts";
import { reportedCost } from "./budget.ts";
import type { PassRules } from "../../sandboxes/model-broker/index.ts";

/**
 * Counts what Claude Code spends against the operator's caps. In the sandbox each call is paid before the broker lets it through.
 * Without one nobody sees the calls: what the log says of them is counted when the session is given back.
 */
export interface Payments {
  /** A session is driven from now on. Returns what ends that. */
  begin(state: () => SessionState): () => Promise<void>;
  /** What a process of this session is let through for. */
  payFor(sessionId: string): NonNullable<PassRules["pay"]>;
  /** Why the last call of this session was not paid, as a sentence; undefined if it was. */
  refusal(sessionId: string): string | undefined;
}

/** A token has about so many bytes. */
const BYTES_PER_TOKEN = 4;

interface Payer {
  readonly state: () => SessionState;
  /** As they were when the drive began: a run that is over does not say any more whose it was. */
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
      const { model, maxTokens } = call;
      const asked = { model, simulated, maxTokens, name, inputTokens: Math.ceil(call.bytes / BYTES_PER_TOKEN) };
      const terms = { asksNobody: true, isWhole: true };
      const answer = await spend.reserve(payer.state(), { ...asked, ...terms }, AbortSignal.timeout(60_000));
      payer.refusal = answer.kind === "refused" ? answer.sentence : undefined;
      if (answer.kind !== "granted") return payer.refusal ?? "";
      return {
        settle(usage: ReportedUsage | undefined) {
          const picos = simulated || !usage ? 0n : reportedCost(model, usage);
          payer.paid += picos;
          void spend.settleNamed(sessionId, { name, picos, caps: payer.caps }).catch(() => undefined);
        },
      };
    },
  };
}
