import { nearestName } from "@skein/protocol";
import { type KeyPolicy, type Policy, isHostAmong, policyOf, tenantRules } from "./policy.ts";

/** The names on a server that its policy may use. */
export interface KnownNames {
  /** Names of tools. For an MCP server, the list has the prefix of its tools, which ends with `__`. */
  readonly tools: readonly string[];
  readonly folders: readonly string[];
  /** Folders in which requests may choose any subfolder. */
  readonly roots: readonly string[];
  /** Hosts that the server allows. */
  readonly hosts: readonly string[];
  readonly bypassPermissions: boolean;
}

/** Returns the problem of a policy, as a sentence that names the setting. Undefined if the policy has no problem. */
export function policyProblem(policy: Policy, known: KnownNames): string | undefined {
  const { keys, tenants, agents, ...general } = policy;
  const own = ruleProblem(general, known);
  if (own !== undefined) return `policy.${own}`;
  for (const [name, rules] of Object.entries(keys)) {
    // A rule of a key must not depend on something that a general rule forbids. So the rules are checked together
    // too.
    const whole = policyOf(policy, { name, tenant: "" });
    const problem = ruleProblem(rules, known) ?? ruleProblem(whole, known);
    if (problem !== undefined) return `policy.keys.${name}.${problem}`;
    const over = overTenant(name, rules, tenants);
    if (over !== undefined) return `policy.keys.${name}.${over}`;
  }
  for (const [group, all] of Object.entries({ tenants, agents }))
    for (const [name, rules] of Object.entries(all)) {
      const problem = capProblem(rules);
      if (problem !== undefined) return `policy.${group}.${name}.${problem}`;
    }
  return undefined;
}

/**
 * Returns a problem if `spendAskAtPercent` is set without `spendPerDayUsd`, because the percentage would have no
 * effect.
 */
function capProblem({ spendPerDayUsd, spendAskAtPercent }: KeyPolicy): string | undefined {
  return spendPerDayUsd === undefined && spendAskAtPercent !== undefined
    ? "spendAskAtPercent: This is a percentage of spendPerDayUsd, which is not set. Set both, or leave spendAskAtPercent out."
    : undefined;
}

/**
 * Returns the problem if the cap of a key is larger than the cap of its tenant. This checks only keys that are named as
 * TENANT/NAME.
 */
function overTenant(name: string, rules: KeyPolicy, tenants: Policy["tenants"]): string | undefined {
  const [tenant = "", key] = name.split("/");
  const all = key === undefined ? undefined : tenantRules({ tenants }, tenant);
  for (const cap of ["concurrentRuns", "spendPerDayUsd"] as const) {
    const [own, most] = [rules[cap], all?.[cap]];
    if (own !== undefined && most !== undefined && own > most)
      return `${cap}: ${own} is more than the ${most} of its tenant "${tenant}". Lower it, or raise the cap of the tenant.`;
  }
  return undefined;
}

function ruleProblem(rules: KeyPolicy, known: KnownNames): string | undefined {
  return emptyList(rules) ?? capProblem(rules) ?? unknownName(rules, known) ?? contradiction(rules, known);
}

function emptyList(rules: KeyPolicy): string | undefined {
  for (const name of ["runtimes", "models", "permissionModes"] as const)
    if (rules[name]?.length === 0)
      return `${name}: The list is empty, so nothing could run. Name at least one entry, or leave the list out.`;
  return undefined;
}

function unknownName({ tools = [], folders = [], hosts = [] }: KeyPolicy, known: KnownNames): string | undefined {
  const tool = tools.find((name) => !isKnownTool(name, known.tools));
  if (tool !== undefined) return `tools: There is no tool "${tool}" on this server. ${insteadOf(tool, known.tools)}`;
  const folder = folders.find((name) => !isKnownFolder(name, known));
  if (folder !== undefined)
    return `folders: "${folder}" is neither a name in claude.folders nor a path inside of claude.roots.`;
  const host = hosts.find((name) => !isHostAmong(known.hosts, name));
  if (host !== undefined) return `hosts: "${host}" is not in claude.hosts. Add the host there first.`;
  return undefined;
}

function insteadOf(tool: string, known: readonly string[]): string {
  const near = nearestName(tool, known);
  return near === undefined ? "Add it to tools, or correct its name." : `Did you mean "${near}"?`;
}

function contradiction(rules: KeyPolicy, known: KnownNames): string | undefined {
  const { sandbox, runtimes, hosts, permissionModes, folders } = rules;
  if (sandbox === "off" && hosts?.length)
    return 'hosts: Hosts are opened through the sandbox, and sandbox is "off". Choose one of the two.';
  if (permissionModes?.includes("bypassPermissions") && !known.bypassPermissions)
    return "permissionModes: This server does not allow bypassPermissions. Allow it with claude.bypassPermissions, or leave it out of the list.";
  const isClosed = runtimes && !runtimes.includes("claude-code");
  if (isClosed && permissionModes)
    return "permissionModes: Only Claude Code has permission modes, and claude-code is not in runtimes.";
  return isClosed && folders?.length
    ? "folders: Only Claude Code has folders, and claude-code is not in runtimes."
    : undefined;
}

function isKnownTool(name: string, known: readonly string[]): boolean {
  if (name === "*") return true;
  if (name.endsWith("*")) {
    const beginning = name.slice(0, -1);
    return known.some((each) => each.startsWith(beginning) || (each.endsWith("__") && beginning.startsWith(each)));
  }
  return known.some((each) => each === name || (each.endsWith("__") && name.startsWith(each)));
}

function isKnownFolder(name: string, { folders, roots }: KnownNames): boolean {
  return folders.includes(name) || roots.some((root) => `${name}/`.startsWith(`${root.replace(/\/+$/, "")}/`));
}
