import type { SessionState } from "../log/state.ts";
import { nextPrompt } from "../run/rules.ts";
import type { RunOwner } from "./caps.ts";

/** Whom the run of a session belongs to: the one that is under way, or the next. */
export function ownerOf(state: SessionState): RunOwner {
  const prompt = state.run?.prompt ?? nextPrompt(state);
  return { tenant: state.tenant, keyName: prompt?.key_name ?? null, agentName: state.agent?.name ?? "" };
}
