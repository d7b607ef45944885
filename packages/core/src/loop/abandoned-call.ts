import type { Fact, FactData, Usage } from "@skein/protocol";
import { estimateTokens } from "../log/estimate-tokens.ts";
import { stepAbandoned } from "../run/facts/index.ts";
import type { SessionState } from "../log/state.ts";
import { modelOf, requestOf } from "./request.ts";

/** The open model call is given up, and charged at the most it can have cost. */
export function abandonedCall(state: SessionState, call: FactData<"step.started">): Fact {
  // The dearest that it can have been: the whole request written to the cache, the answer as long as it may be.
  const sent = estimateTokens(requestOf(state, call.purpose, call.max_tokens).body);
  const usage: Usage = {
    input_tokens: 0,
    output_tokens: call.max_tokens,
    cache_creation_input_tokens: Math.max(call.estimated_tokens, sent),
  };
  return stepAbandoned({ runId: call.run_id, step: call.step }, { model: call.model || modelOf(state), usage });
}
