import type { FactData } from "@skein/protocol";
import type { CallState, RunState } from "./state.ts";

/**
 * Applies the fact `hook.called`, which says what a hook of the agent changed or rejected. For hooks of Claude Code,
 * `hook_event` has other values, so nothing is applied.
 */
export function hookSaid(
  run: RunState,
  call: CallState | undefined,
  { hook_event, decision, reason, modified_input }: FactData<"hook.called">,
): void {
  if (hook_event === "before_model_call") {
    const { system, max_tokens } = (modified_input ?? {}) as { system?: string; max_tokens?: number };
    run.modelHook = {
      ...(system !== undefined && { system }),
      ...(max_tokens !== undefined && { maxTokens: max_tokens }),
      ...(decision === "deny" && { refusal: reason ?? "A hook refused the call of the model." }),
    };
  }
  if (hook_event !== "before_tool_call" || decision === "none" || !call) return;
  call.hook = { decision, reason };
  if (modified_input) Object.assign(call, { input: modified_input, isChanged: true });
}
