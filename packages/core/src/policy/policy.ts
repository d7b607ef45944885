import { AgentConfig, PermissionMode } from "@skein/protocol";
import { z } from "zod";

/**
 * What the operator allows the API keys of a server. The operator decides; a request may only ask for less.
 *
 * A rule that is not set limits nothing: a key without rules may use everything that this server has. A rule of a key
 * replaces the general rule of the same name.
 */

/**
 * Whether programs that a model can control run in a sandbox. `required`: such programs never run without a sandbox.
 * `preferred`: they run in a sandbox if the machine has one. `off`: no sandbox is used.
 */
export const SandboxMode = z.enum(["off", "preferred", "required"]);
export type SandboxMode = z.infer<typeof SandboxMode>;

/** A name, or the beginning of a name followed by `*`. */
const NamePattern = z.string().regex(/^[^\s*]+\*?$|^\*$/, "Expected a name, or the beginning of a name followed by *.");

/** `*.example.com` matches every name below example.com, but not example.com. */
export const HostPattern = z
  .string()
  .regex(/^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, "Expected a host such as example.com or *.example.com.");

/** Rules for runs: how many may be in progress at the same time, and what they may cost in a day. */
const spending = {
  /** The most runs in progress at the same time, in all processes of a store. Other runs wait. */
  concurrentRuns: z.int("Expected a whole number of runs.").min(1).max(100_000).optional(),
  /** Dollars that runs may cost within a day (UTC). */
  spendPerDayUsd: z.number().min(0.000001, "Expected a millionth of a dollar or more.").max(1_000_000_000).optional(),
  /** At this percentage of the cap, people are asked before the next call. Default: 80. With false, nobody is asked. */
  spendAskAtPercent: z.union([z.int().min(1).max(99), z.literal(false)]).optional(),
};

export const KeyPolicy = z.strictObject({
  sandbox: SandboxMode.optional(),
  runtimes: z.array(AgentConfig.shape.runtime.unwrap()).optional(),
  /** Names of tools. A tool of an MCP server is named `mcp__SERVER__TOOL`. */
  tools: z.array(NamePattern).optional(),
  permissionModes: z.array(PermissionMode).optional(),
  models: z.array(NamePattern).optional(),
  /** Folders that requests may name: names of `claude.folders`, or paths inside of `claude.roots`. */
  folders: z.array(z.string().min(1)).optional(),
  /** Hosts that programs in the sandbox may call. */
  hosts: z.array(HostPattern).optional(),
  ...spending,
});
export type KeyPolicy = z.infer<typeof KeyPolicy>;

export const Policy = KeyPolicy.extend({
  /**
   * Rules of single API keys, by the name of the key. If two tenants have keys of the same name, `TENANT/NAME` names a
   * single key.
   */
  keys: z.record(z.string().min(1), KeyPolicy).default({}),
  /** Caps for all keys of a tenant together, by tenant. `*` applies to every tenant without an entry. */
  tenants: z.record(z.string().min(1), z.strictObject(spending)).default({}),
  /** Caps for all runs of an agent together, by agent. They apply in each tenant separately. */
  agents: z.record(z.string().min(1), z.strictObject(spending)).default({}),
});
export type Policy = z.infer<typeof Policy>;

/** Returns the hosts that an agent asks for in `extras.hosts`. Undefined means all allowed hosts. */
export function agentHosts({ extras }: Pick<AgentConfig, "extras">): readonly string[] | undefined {
  const asked = z.array(HostPattern).safeParse(extras["hosts"]);
  if (asked.success) return asked.data;
  return extras["hosts"] === undefined ? undefined : [];
}

export function policyOf(policy: Policy, key: { readonly name: string; readonly tenant: string }): KeyPolicy {
  const { keys, tenants: _tenants, agents: _agents, ...general } = policy;
  return { ...general, ...keys[key.name], ...keys[`${key.tenant}/${key.name}`] };
}

/** Returns the caps for all keys of a tenant together. Undefined if the tenant has no caps. */
export function tenantRules(
  { tenants }: Pick<Policy, "tenants">,
  tenant: string,
): Policy["tenants"][string] | undefined {
  // A tenant may be named "constructor", and every object has a property of this name.
  return Object.hasOwn(tenants, tenant) ? tenants[tenant] : tenants["*"];
}

/** Whether a list of a policy has this name; a missing list contains every name. */
export function isAmong(patterns: readonly string[] | undefined, name: string): boolean {
  return (
    patterns === undefined ||
    patterns.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each))
  );
}

/** The hosts that are in both lists. */
export function commonHosts(one: readonly string[], other: readonly string[]): readonly string[] {
  const common = [...one.filter((host) => isHostAmong(other, host)), ...other.filter((host) => isHostAmong(one, host))];
  return [...new Set(common)];
}

/** Returns whether the list allows a host, or every host that a pattern matches. */
export function isHostAmong(hosts: readonly string[], host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  return hosts.some((each) => name === each || (each.startsWith("*.") && name.endsWith(each.slice(1))));
}
