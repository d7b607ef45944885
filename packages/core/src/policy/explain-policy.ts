import { type KeyPolicy, commonHosts } from "./policy.ts";
import type { ChosenSandboxMode } from "./sandbox-mode.ts";

type CapRules = Pick<KeyPolicy, "concurrentRuns" | "spendPerDayUsd" | "spendAskAtPercent">;

/** An API key, and the settings of its server that decide what the key can do. */
export interface ExplainedKey {
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly policy: KeyPolicy;
  /** The caps of the tenant, if the operator set any. */
  readonly tenantRules?: CapRules | undefined;
  readonly sandbox: ChosenSandboxMode;
  /** Why there is no sandbox on this machine; undefined if there is one. */
  readonly sandboxProblem: string | undefined;
  /** Whether the operator named this key as one that may run Claude Code, even without a sandbox. */
  readonly isOpened: boolean;
  /** Folders and hosts that the operator opened to all keys. A folder is a name, or a path with everything inside. */
  readonly opened: { readonly folders: readonly string[]; readonly hosts: readonly string[] };
}

/** Describes what a key can do, in one or two sentences for each rule. */
export function explainPolicy(key: ExplainedKey): readonly string[] {
  const { name, tenant, scopes, policy, opened } = key;
  const head = `The key "${name}" belongs to the tenant "${tenant}". With its scope (${scopes.join(", ")}) it can ${abilities(scopes)}.`;
  if (!scopes.some((scope) => scope === "run" || scope === "admin"))
    return [head, "It cannot run anything: that needs the scope run or admin."];
  const hosts = policy.hosts ? commonHosts(policy.hosts, opened.hosts) : opened.hosts;
  return [
    head,
    claudeSentence(key),
    sandboxSentence(key),
    `Runtimes: ${listed(policy.runtimes, "every runtime of this server")}.`,
    `Tools: ${listed(policy.tools, "every tool that its agents and requests name")}.`,
    `Models: ${listed(policy.models, "every model of this server")}.`,
    `Permission modes of Claude Code: ${listed(policy.permissionModes, "every mode that this server allows")}.`,
    `Working folders: each session has a folder of its own. Other folders that a request can name: ${listed(policy.folders ?? opened.folders, "")}.`,
    `Network: commands in the sandbox can reach ${hosts.length === 0 ? "no host" : hosts.join(", ")}.`,
    ...capSentences(policy),
    ...(key.tenantRules ? capSentences(key.tenantRules).filter((each) => !each.endsWith(`: ${NO_LIMIT}.`)) : []).map(
      (each) => `All keys of the tenant "${tenant}" together: ${each}`,
    ),
  ];
}

const ABILITIES: Readonly<Record<string, string>> = {
  read: "read the sessions of its tenant",
  run: "read the sessions of its tenant and run agents",
  sql: "read the sessions of its tenant, and query sessions and the audit log by SQL",
  admin: "do everything in its tenant, also make keys",
};

function abilities(scopes: readonly string[]): string {
  if (scopes.includes("admin")) return ABILITIES["admin"] ?? "";
  return scopes.flatMap((scope) => ABILITIES[scope] ?? []).join(", and ");
}

/** Describes the caps of a key or a tenant. */
function capSentences({ concurrentRuns, spendPerDayUsd, spendAskAtPercent = 80 }: CapRules): readonly string[] {
  const runs =
    concurrentRuns === undefined ? NO_LIMIT : `at most ${concurrentRuns}. Further runs wait and are shown as queued`;
  const asks =
    spendAskAtPercent === false
      ? "Nobody is asked before the limit is reached"
      : `At ${spendAskAtPercent} % of the limit, a run stops and asks a person before it continues`;
  const spend = spendPerDayUsd === undefined ? NO_LIMIT : `at most ${inDollars(spendPerDayUsd)} per day (UTC). ${asks}`;
  return [`Runs at the same time: ${runs}.`, `Spending: ${spend}.`];
}

const NO_LIMIT = "no limit";

function inDollars(amount: number): string {
  return `$${amount < 0.01 ? amount.toFixed(6) : amount.toFixed(2)}`;
}

/**
 * Returns whether an API key may run Claude Code. A key with the scope admin may, and so may a key that the operator
 * named. Every other key may only if the sandbox is `required` and works. If a required sandbox does not work, no key
 * may.
 */
export function mayRunClaude({ scopes, isOpened, sandbox, sandboxProblem }: ClaudeRights): boolean {
  if (sandbox.mode === "required" && sandboxProblem !== undefined) return false;
  return scopes.includes("admin") || isOpened || (sandbox.mode === "required" && sandboxProblem === undefined);
}
type ClaudeRights = Pick<ExplainedKey, "scopes" | "isOpened" | "sandbox" | "sandboxProblem">;

function claudeSentence(key: ExplainedKey): string {
  if (key.policy.runtimes && !key.policy.runtimes.includes("claude-code"))
    return "It cannot run Claude Code, which is not among its runtimes.";
  if (mayRunClaude(key)) return "It can run Claude Code.";
  if (key.sandbox.mode === "required")
    return `It cannot run Claude Code: a sandbox is required, and this machine has none. ${key.sandboxProblem}`;
  return 'It cannot run Claude Code: it needs the scope admin, unless the sandbox is "required" or SKEIN_CLAUDE_KEYS names this key.';
}

function sandboxSentence({ sandbox: { mode, because }, sandboxProblem }: ExplainedKey): string {
  const chosen = `Sandbox: ${mode}, because ${because}.`;
  if (mode === "off") return `${chosen} ${OPEN}`;
  if (sandboxProblem === undefined) return `${chosen} Commands that a model runs see only the files of their session.`;
  return mode === "required"
    ? `${chosen} This machine has none, so Claude Code and commands are off.`
    : `${chosen} This machine has none. ${OPEN} ${sandboxProblem}`;
}

const OPEN = "Commands that a model runs can read and change everything that the server's user can.";

function listed(list: readonly string[] | undefined, all: string): string {
  if (list === undefined) return all;
  return list.length === 0 ? "none" : list.join(", ");
}
