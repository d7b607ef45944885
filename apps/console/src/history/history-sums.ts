import type { UsageTotals } from "@skein/protocol";
import type { HistoryDetails } from "../api/api.ts";
import type { SessionView } from "../session/view.ts";
import { plural } from "../ui/amounts.ts";

/** The cost and the tokens of one transcript, from the same calls. */
export interface HistorySums {
  readonly cost: { readonly cost_micros: number; readonly unpriced_calls: number };
  readonly totals: UsageTotals;
  /** A text that names the counted calls. Undefined if all calls of the transcript are counted. */
  readonly scope: string | undefined;
}

interface SumsOptions {
  /** The subagent whose transcript is shown. */
  readonly agentId: string | null;
  /** Whether the beginning of the transcript was not read yet. */
  readonly isPartial: boolean;
}

/**
 * Returns the server's sums for a session with its subagents. The page adds up the messages itself for the transcript
 * of one subagent, and while the server has no sums.
 */
export function historySums(
  { cost_micros, usage, subagents }: Pick<HistoryDetails, "cost_micros" | "usage" | "subagents">,
  view: SessionView,
  { agentId, isPartial }: SumsOptions,
): HistorySums {
  if (agentId === null && usage !== null)
    return {
      cost: { cost_micros: cost_micros ?? 0, unpriced_calls: usage.unpriced_calls },
      totals: usage,
      scope: subagents.length > 0 ? `with ${plural(subagents.length, "subagent")}` : undefined,
    };
  return {
    cost: { cost_micros: view.costMicros, unpriced_calls: view.unpricedCalls },
    totals: view.totals,
    scope: isPartial ? "of the messages shown" : agentId !== null ? "of this subagent" : undefined,
  };
}
