import type { SessionState } from "../log/state.ts";
import { nextPrompt } from "../run/rules.ts";
import type { RunOwner } from "./caps.ts";

/** Returns the owner of the run in progress, or of the next run. */
export function ownerOf(state: SessionState): RunOwner {
  const prompt = state.run?.prompt ?? nextPrompt(state);
  return { tenant: state.tenant, keyName: prompt?.key_name ?? null, agentName: state.agent?.name ?? "" };
}
