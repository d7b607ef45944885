import type { SandboxMode } from "./policy.ts";

/** Who can reach a server. */
export interface ServerSituation {
  /** Whether only programs on the same machine can reach the server. */
  readonly isLoopback: boolean;
  /** The valid API keys. */
  readonly keys: readonly { readonly name: string; readonly tenant: string; readonly scopes: readonly string[] }[];
}

export interface ChosenSandboxMode {
  readonly mode: SandboxMode;
  /** The reason, as the end of a sentence. */
  readonly because: string;
}

/**
 * Returns the sandbox mode. If the operator chose none, the mode is `preferred` for a server of one person: only its
 * own machine can reach it, it has one tenant, and every key has the scope admin. For every other server, the mode is
 * `required`.
 */
export function chosenSandboxMode(chosen: SandboxMode | undefined, situation: ServerSituation): ChosenSandboxMode {
  if (chosen !== undefined) return { mode: chosen, because: "the operator chose it" };
  const { isLoopback, keys } = situation;
  if (!isLoopback) return { mode: "required", because: "other machines can reach this server" };
  const lesser = keys.find(({ scopes }) => !scopes.includes("admin"));
  if (lesser) return { mode: "required", because: `the key "${lesser.name}" does not have the scope admin` };
  const tenants = new Set(keys.map(({ tenant }) => tenant));
  if (tenants.size > 1) return { mode: "required", because: `there are ${tenants.size} tenants` };
  return { mode: "preferred", because: "the server listens on this machine only, and every key has the scope admin" };
}
