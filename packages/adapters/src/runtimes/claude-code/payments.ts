import type { SessionState, SpendGate } from "@skein/core";
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
}

/** A token has about so many bytes. */
const BYTES_PER_TOKEN = 4;

export function createPayments(spend: SpendGate | undefined, simulated: boolean): Payments {
  const driven = new Map<string, { readonly state: () => SessionState; paid: bigint }>();
  return {
    begin(state) {
      const { sessionId, costPicos } = state();
      const drive = { state, paid: 0n };
      driven.set(sessionId, drive);
      return async () => {
        driven.delete(sessionId);
        const unpaid = BigInt(state().costPicos) - BigInt(costPicos) - drive.paid;
        if (unpaid > 0n && spend?.applies(state())) await spend.settleNamed(state(), crypto.randomUUID(), unpaid);
      };
    },
    payFor: (sessionId) => async (call) => {
      const drive = driven.get(sessionId);
      if (!spend || !drive || !spend.applies(drive.state())) return { settle() {} };
      const name = crypto.randomUUID();
      const { model, maxTokens } = call;
      const asked = { model, simulated, maxTokens, name, inputTokens: Math.ceil(call.bytes / BYTES_PER_TOKEN) };
      const answer = await spend.reserve(drive.state(), { ...asked, asksNobody: true }, AbortSignal.timeout(60_000));
      if (answer.kind !== "granted") return answer.kind === "refused" ? answer.sentence : "";
      if (answer.maxTokens < maxTokens) {
        await spend.settleNamed(drive.state(), name, 0n);
        return `What is left of the caps on spending for today does not pay for an answer of ${maxTokens} tokens, which Claude Code asks for.`;
      }
      return {
        settle(usage: ReportedUsage | undefined) {
          const cost = simulated || !usage ? 0n : reportedCost(model, usage);
          drive.paid += cost;
          void spend.settleNamed(drive.state(), name, cost).catch(() => undefined);
        },
      };
    },
  };
}
