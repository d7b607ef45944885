import { CLAUDE_TOOLS, type ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { openSandbox } from "@skein/adapters/sandboxes/bubblewrap";
import {
  type Cap,
  type ChosenSandboxMode,
  type KeyPolicy,
  type Policy,
  type RunOwner,
  type SandboxMode,
  SKILL_TOOL,
  capsOf,
  chosenSandboxMode,
  commonHosts,
  explainPolicy,
  policyOf,
  policyProblem,
  tenantRules,
} from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { KeyInfo, Keys, Principal, WallsState } from "@skein/server";
import type { ServedCode } from "./config-file.ts";
import { LOOPBACK, openedByBoth } from "./settings.ts";
import type { StartOptions } from "./start-options.ts";

/** The properties of a key on which rules depend. */
interface PolicyKey {
  readonly name: string;
  readonly tenant: string;
}

/**
 * The operator's rules at this moment. Whether a sandbox is required depends on the valid keys, which change over time.
 */
export interface ServerPolicy {
  of(key: PolicyKey): KeyPolicy;
  /** Whether there are rules for keys of this name. */
  hasKey(name: string): boolean;
  /** Returns the rules for all keys of a tenant together. Undefined if the tenant has no rules. */
  ofTenant(tenant: string): Policy["tenants"][string] | undefined;
  /** Returns the sandbox mode for programs of this key's sessions. Without a key, returns the mode of the server. */
  sandbox(key?: PolicyKey): Promise<ChosenSandboxMode>;
  /**
   * Returns the strictest mode of all keys. All sessions of the runtime `loop` use this mode, whichever key created
   * them.
   */
  strictestSandbox(): Promise<ChosenSandboxMode>;
  /** Whether any key has a rule about the sandbox. */
  readonly hasSandboxRules: boolean;
  /** Whether several tenants have keys, as of the last count. Starts a new count, at most every two seconds. */
  isShared(): boolean;
  /** Whether any rule limits how many runs are in progress at once. */
  readonly capsRuns: boolean;
  /** Returns the caps that a run counts against: limits on concurrent runs and on spending per day. */
  capsOf(owner: RunOwner): readonly Cap[];
  /** Whether any rule limits concurrent runs or spending. */
  readonly hasCaps: boolean;
  /** Names of agents that have caps. */
  readonly cappedAgents: readonly string[];
  /** The hosts that programs of every key may call. */
  commonHosts(): readonly string[];
}

/** Reads the rules of a server from its config file and the environment. Rejects contradictory rules. */
export function openPolicy(
  { sandbox, host, claudeOpened }: Pick<StartOptions, "sandbox" | "host" | "claudeOpened">,
  { policy, claude: own, tools, skills = [] }: ServedCode,
  keys: PolicyDeps["keys"],
): { readonly rules: ServerPolicy; readonly claude: ClaudeSettings } {
  const claude = claudeOpened ? openedByBoth(claudeOpened, own) : own;
  checkPolicy(policy, { claude, tools: [...tools.keys(), ...(skills.length > 0 ? [SKILL_TOOL] : [])] });
  const isLoopback = LOOPBACK.includes(host);
  return { claude, rules: createServerPolicy({ policy, sandbox, isLoopback, hosts: claude.hosts, keys }) };
}

/** Explains in sentences what a key can do. */
export async function explainKey(
  { name, tenant, scopes }: Pick<KeyInfo | Principal, "name" | "tenant" | "scopes">,
  { rules, claude }: ReturnType<typeof openPolicy>,
): Promise<readonly string[]> {
  const found = await openSandbox();
  return explainPolicy({
    name,
    tenant,
    scopes,
    policy: rules.of({ name, tenant }),
    tenantRules: rules.ofTenant(tenant),
    sandbox: await rules.sandbox({ name, tenant }),
    sandboxProblem: "problem" in found ? found.problem : undefined,
    isOpened: claude.keys.includes(name),
    opened: { folders: [...Object.keys(claude.folders), ...claude.roots], hosts: claude.hosts },
  });
}

interface PolicyDeps {
  readonly policy: Policy;
  /** The value of SKEIN_SANDBOX. */
  readonly sandbox?: SandboxMode | undefined;
  readonly isLoopback: boolean;
  /** Hosts that the operator allowed. */
  readonly hosts: readonly string[];
  readonly keys: Pick<Keys, "valid">;
  readonly now?: () => number;
}

/** How long the list of keys is cached. */
const REMEMBER_MS = 2000;

function createServerPolicy(deps: PolicyDeps): ServerPolicy {
  const { isLoopback, keys, now = Date.now } = deps;
  const policy = { ...deps.policy, ...stricter(deps.sandbox, deps.policy.sandbox) };
  const groups = [policy.keys, policy.tenants, policy.agents];
  const rules = [policy, ...groups.flatMap(Object.values<Partial<KeyPolicy>>)];
  let known: { readonly at: number; readonly keys: ReturnType<Keys["valid"]> } | undefined;

  let isShared = false;
  let countedAt = -Infinity;

  function countTenants(): void {
    if (Math.abs(now() - countedAt) < REMEMBER_MS) return;
    countedAt = now();
    void validKeys(undefined).then(
      (all) => (isShared = new Set(all.map(({ tenant }) => tenant)).size > 1),
      // While the store is unavailable, the last known value is used.
      () => undefined,
    );
  }

  async function validKeys(key: PolicyKey | undefined): ReturnType<Keys["valid"]> {
    const remembered = known && now() - known.at < REMEMBER_MS ? await known.keys : undefined;
    if (remembered && (!key || remembered.some((each) => isSameKey(each, key)))) return remembered;
    known = { at: now(), keys: keys.valid() };
    return known.keys;
  }

  return {
    of: (key) => policyOf(policy, key),
    hasSandboxRules: Object.values(policy.keys).some(({ sandbox }) => sandbox !== undefined),
    hasKey: (name) => Object.hasOwn(policy.keys, name),
    ofTenant: (tenant) => tenantRules(policy, tenant),
    capsRuns: rules.some(({ concurrentRuns }) => concurrentRuns !== undefined),
    hasCaps: rules.some((rule) => rule.concurrentRuns !== undefined || rule.spendPerDayUsd !== undefined),
    capsOf: (owner) => capsOf(policy, owner),
    cappedAgents: Object.keys(policy.agents),
    isShared() {
      countTenants();
      return isShared;
    },
    async sandbox(key) {
      const chosen = key ? policyOf(policy, key).sandbox : policy.sandbox;
      const all = await validKeys(key);
      // Several keys may require a sandbox. If the given key is one of them, the reason names the given key.
      const own = all.filter((each) => isSameKey(each, key));
      return chosenSandboxMode(chosen, { isLoopback, keys: [...own, ...all] });
    },
    async strictestSandbox() {
      const own = chosenSandboxMode(policy.sandbox, { isLoopback, keys: await validKeys(undefined) });
      const [name, rule] = Object.entries(policy.keys).find(([, { sandbox }]) => sandbox === "required") ?? [];
      return rule && own.mode !== "required"
        ? { mode: "required", because: `the rules of the key "${name}" say so` }
        : own;
    },
    commonHosts: () =>
      [policy, ...Object.values(policy.keys)].reduce<readonly string[]>(
        (left, rule) => (rule.hosts ? commonHosts(left, rule.hosts) : left),
        deps.hosts,
      ),
  };
}

function isSameKey(one: PolicyKey, other: PolicyKey | undefined): boolean {
  return one.name === other?.name && one.tenant === other.tenant;
}

/** Returns the current state of a server's sandbox. */
export async function wallsState({ sandbox }: Pick<ServerPolicy, "sandbox">): Promise<WallsState> {
  const { mode, because } = await sandbox();
  const why = mode === "preferred" ? `It is not required here, because ${because}.` : `(${mode}, because ${because})`;
  if (mode === "off")
    return {
      isKept: true,
      brief: "off, as chosen: programs have this user's rights",
      says: `Off ${why}: programs that a model starts have the rights of the server's user.`,
    };
  const found = await openSandbox();
  if ("sandbox" in found) {
    const { summary, limits } = found.sandbox.walls;
    const brief = mode === "required" ? "on (bubblewrap), and required" : "on (bubblewrap)";
    return { isKept: true, brief, says: `${summary} ${why} ${limits}` };
  }
  return mode === "required"
    ? {
        isKept: false,
        brief: 'missing, but required: Claude Code and Bash are off. See "skein doctor"',
        says: `A sandbox is required, because ${because}, but this machine has none. Claude Code and Bash are off. ${found.problem}`,
      }
    : {
        isKept: true,
        brief: 'none: programs have this user\'s rights. See "skein doctor"',
        says: `This machine has no sandbox. ${why} Programs that a model starts have the rights of the server's user. ${found.problem}`,
      };
}

const STRICTNESS: readonly SandboxMode[] = ["off", "preferred", "required"];

/** Returns the stricter of two sandbox modes. */
function stricter(one: SandboxMode | undefined, other: SandboxMode | undefined): { readonly sandbox?: SandboxMode } {
  const sandbox = STRICTNESS[Math.max(...[one, other].map((mode) => (mode ? STRICTNESS.indexOf(mode) : -1)))];
  return sandbox === undefined ? {} : { sandbox };
}

/** Rejects a policy with a contradiction. Also rejects a policy with the name of an unknown tool or folder. */
function checkPolicy(
  policy: Policy,
  { claude, tools }: { readonly claude: ClaudeSettings; readonly tools: Iterable<string> },
): void {
  const problem = policyProblem(policy, {
    // Requests may define MCP servers, so the names of their tools are unknown at the start.
    tools: [...CLAUDE_TOOLS, ...tools, "mcp__"],
    folders: Object.keys(claude.folders),
    roots: claude.roots,
    hosts: claude.hosts,
    bypassPermissions: claude.bypassPermissions,
  });
  if (problem !== undefined) throw new KnownError("invalid", problem);
}
