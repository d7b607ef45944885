import { type KeyPolicy, agentHosts, useRefusal } from "@skein/core";
import { type AgentConfig, type ClaudeOptions, KnownError } from "@skein/protocol";
import type { Caller } from "../../request-context.ts";
import { allows } from "../../keys.ts";
import type { ClaudeGate } from "./gate.ts";
import { recordedOptions } from "./session-options.ts";

/** Rejects a key that may not run Claude Code. */
export async function checkOpen(gate: ClaudeGate, { principal }: Pick<Caller, "principal">): Promise<void> {
  const refusal = await gate.refusal(principal);
  if (refusal !== undefined) throw new KnownError("not_allowed", refusal);
}

/** Rejects an agent if the rules of the key do not allow its runtime, model or tools. */
export function checkAgent(
  call: Pick<Caller, "shared" | "principal">,
  agent: AgentConfig,
  model?: string | null,
): void {
  const { frontend_tools: frontend } = agent.extras;
  const isOurs = (name: string): boolean => !Array.isArray(frontend) || !frontend.includes(name);
  const refusal = useRefusal(rulesOf(call), {
    runtime: agent.runtime,
    models: [model ?? agent.model, ...(agent.fallback_models ?? [])],
    tools: [
      ...agent.tool_schemas.map(({ name }) => name).filter(isOurs),
      ...agent.server_tools.map(({ name, type }) => String(name ?? type)),
    ],
    hosts: agentHosts(agent) ?? [],
  });
  if (refusal !== undefined) throw new KnownError("not_allowed", refusal);
}

/**
 * Rejects a prompt or an answer if the session has more rights than the key may give. The rights of a session are its
 * runtime, model and tools, the use of Claude Code, and a mode that bypasses permissions. Such a mode does not count if
 * the request sets another mode.
 */
export async function checkRights(
  call: Caller,
  sessionId: string,
  asked: Pick<Partial<ClaudeOptions>, "permission_mode"> & { readonly model?: string | null | undefined } = {},
): Promise<void> {
  const { shared, principal, sessions } = call;
  const { claude } = shared.deps;
  const isAdmin = allows(principal, "admin");
  const refusal = isAdmin ? undefined : await claude?.refusal(principal);
  if (refusal !== undefined || claude?.hasSandboxRules || hasRules(rulesOf(call))) {
    const agent = await agentOf(call, sessionId);
    if (agent?.runtime === "claude-code") {
      if (refusal !== undefined) throw new KnownError("not_allowed", refusal);
      await claude?.admit({}, { principal, sessionId });
    }
    if (agent) checkAgent(call, agent, asked.model);
  }
  if (!claude || isAdmin || !claude.bypass || asked.permission_mode) return;
  const state = await sessions.state(sessionId);
  const mode = state.control.permissionMode ?? recordedOptions(state)?.permission_mode;
  if (mode === "bypassPermissions")
    throw new KnownError(
      "not_allowed",
      "permission_mode: This session bypasses permissions, which needs a key with the scope admin. Resume it with another permission_mode, or with such a key.",
    );
}

function rulesOf({ shared, principal }: Pick<Caller, "shared" | "principal">): KeyPolicy {
  return shared.deps.policyOf?.(principal) ?? {};
}

/** Whether the rules of a key restrict sessions in any way. */
function hasRules({ runtimes, models, tools, permissionModes, folders, hosts }: KeyPolicy): boolean {
  return [runtimes, models, tools, permissionModes, folders, hosts].some((rule) => rule !== undefined);
}

/** The agent of a session. It never changes, so reading the first event is enough. */
async function agentOf({ sessions }: Caller, sessionId: string): Promise<AgentConfig | undefined> {
  const [first] = await sessions.events(sessionId, { limit: 1 });
  return first?.event_type === "session.created" ? first.data.agent : undefined;
}
