import type { KeyPolicy } from "./policy.ts";
import type { ChosenSandboxMode } from "./sandbox-mode.ts";

type CapRules = Pick<KeyPolicy, "concurrentRuns" | "spendPerDayUsd" | "spendAskAtPercent">;

/** What the rules of a key depend on: the key and its server. */
export interface ExplainedKey {
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly policy: KeyPolicy;
  /** What all keys of its tenant may use together, if the operator set such a limit. */
  readonly tenantRules?: CapRules | undefined;
  readonly sandbox: ChosenSandboxMode;
  /** Why there is no sandbox on this machine; undefined if there is one. */
  readonly sandboxProblem: string | undefined;
  /** Whether the operator opened Claude Code to this key by name, with or without a sandbox. */
  readonly isOpened: boolean;
}

/** What a key can do: one sentence per rule. */
export function explainPolicy(key: ExplainedKey): readonly string[] {
  const { name, tenant, scopes, policy } = key;
  const head = `The key "${name}" belongs to the tenant "${tenant}" and has the scope ${scopes.join(", ")}.`;
  if (!scopes.some((scope) => scope === "run" || scope === "admin"))
    return [head, "It cannot run anything: that needs the scope run or admin."];
  return [
    head,
    claudeSentence(key),
    sandboxSentence(key),
    `Runtimes: ${listed(policy.runtimes, "all that this server has")}.`,
    `Tools: ${listed(policy.tools, "all that an agent or a request names")}.`,
    `Permission modes of Claude Code: ${listed(policy.permissionModes, "all that the operator opened")}.`,
    `Models: ${listed(policy.models, "all")}.`,
    `Folders that a request may name: ${listed(policy.folders, "all that the operator opened")}.`,
    `Hosts that programs in the sandbox may call: ${listed(policy.hosts, "all that the operator opened")}.`,
    ...capSentences(policy),
    ...(key.tenantRules ? capSentences(key.tenantRules, `All keys of the tenant "${tenant}" together: `) : []),
  ];
}

/** What the caps of a key or a tenant mean. */
function capSentences(
  { concurrentRuns, spendPerDayUsd, spendAskAtPercent = 80 }: CapRules,
  whose = "",
): readonly string[] {
  const runs =
    concurrentRuns === undefined
      ? "no limit of its own"
      : `at most ${concurrentRuns}. Others wait in line, and are shown as queued`;
  const asks =
    spendAskAtPercent === false ? "Nobody is asked before that" : `At ${spendAskAtPercent} % of that, people are asked`;
  const spend =
    spendPerDayUsd === undefined ? "no limit of its own" : `at most ${inDollars(spendPerDayUsd)} a day (UTC). ${asks}`;
  return [`${whose}Runs at the same time: ${runs}.`, `${whose}Spending: ${spend}.`];
}

function inDollars(amount: number): string {
  return `$${amount < 0.01 ? amount.toFixed(6) : amount.toFixed(2)}`;
}

/**
 * Whether a key may run Claude Code: an admin key, a key that the operator named, or any run key if the sandbox works.
 */
export function mayRunClaude({ scopes, isOpened, sandbox, sandboxProblem }: ClaudeRights): boolean {
  if (sandbox.mode === "required" && sandboxProblem !== undefined) return false;
  return scopes.includes("admin") || isOpened || (sandbox.mode === "required" && sandboxProblem === undefined);
}
type ClaudeRights = Pick<ExplainedKey, "scopes" | "isOpened" | "sandbox" | "sandboxProblem">;

function claudeSentence(key: ExplainedKey): string {
  if (key.policy.runtimes && !key.policy.runtimes.includes("claude-code")) return "It does not run Claude Code.";
  if (mayRunClaude(key)) return "It runs Claude Code.";
  if (key.sandbox.mode === "required")
    return `It does not run Claude Code: a sandbox is required, and there is none. ${key.sandboxProblem}`;
  return 'It does not run Claude Code: that needs the scope admin as long as the sandbox is not "required".';
}

function sandboxSentence({ sandbox: { mode, because }, sandboxProblem }: ExplainedKey): string {
  const why = `because ${because}`;
  if (mode === "off") return `Sandbox: off, ${why}. Programs of its sessions run as the server's user.`;
  if (sandboxProblem === undefined) return `Sandbox: ${mode}, ${why}. Programs of its sessions see only their session.`;
  return mode === "required"
    ? `Sandbox: required, ${why}. There is none on this machine, so programs that a model controls are off.`
    : `Sandbox: preferred, ${why}. There is none on this machine, so programs of its sessions run as the server's user. ${sandboxProblem}`;
}

function listed(list: readonly string[] | undefined, all: string): string {
  if (list === undefined) return all;
  return list.length === 0 ? "none" : list.join(", ");
}
