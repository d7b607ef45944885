import type { Policy } from "../policy/policy.ts";
import { policyOf, tenantRules } from "../policy/policy.ts";

/** Whom a run belongs to, as far as caps depend on it. */
export interface RunOwner {
  readonly tenant: string;
  /** The key that asked for the run; null if it was not requested over HTTP. */
  readonly keyName: string | null;
  readonly agentName: string;
}

/** A rule of the operator about runs of one key, agent or tenant together. */
export interface Cap {
  /** Tells this cap from others, in every process of a store. */
  readonly scope: string;
  readonly kind: "key" | "agent" | "tenant";
  readonly name: string;
  /** Whose cap it is, for sentences: `key "ci"`. */
  readonly of: string;
  /** Runs that may be under way at the same time. */
  readonly runs: number | undefined;
  /** Pico-dollars a day. */
  readonly spend: bigint | undefined;
  /** The amount at which people are asked; undefined if nobody is asked. */
  readonly askAt: bigint | undefined;
  /** `askAt` as a percentage of `spend`. */
  readonly askAtPercent: number | undefined;
}

const DEFAULT_ASK_PERCENT = 80;
const PICOS_PER_DOLLAR = 1_000_000_000_000;

/** The caps that count for a run: its key's, its agent's, its tenant's. */
export function capsOf(policy: Policy, { tenant, keyName, agentName }: RunOwner): readonly Cap[] {
  const ofKey = keyName === null ? undefined : policyOf(policy, { name: keyName, tenant });
  const ofTenant = tenantRules(policy, tenant);
  return [
    capOf({ scope: `key:${tenant}/${keyName}`, kind: "key", name: keyName ?? "" }, ofKey),
    capOf({ scope: `agent:${tenant}/${agentName}`, kind: "agent", name: agentName }, policy.agents[agentName]),
    capOf({ scope: `tenant:${tenant}`, kind: "tenant", name: tenant }, ofTenant),
  ].flatMap((cap) => cap ?? []);
}

type Rules = Pick<Policy, "concurrentRuns" | "spendPerDayUsd" | "spendAskAtPercent">;

function capOf(whose: Pick<Cap, "scope" | "kind" | "name">, rules: Rules | undefined): Cap | undefined {
  const { concurrentRuns: runs, spendPerDayUsd, spendAskAtPercent = DEFAULT_ASK_PERCENT } = rules ?? {};
  if (runs === undefined && spendPerDayUsd === undefined) return undefined;
  const spend = spendPerDayUsd === undefined ? undefined : BigInt(Math.round(spendPerDayUsd * PICOS_PER_DOLLAR));
  const askAtPercent = spend === undefined || spendAskAtPercent === false ? undefined : spendAskAtPercent;
  const askAt = askAtPercent === undefined ? undefined : ((spend ?? 0n) * BigInt(askAtPercent)) / 100n;
  return { ...whose, of: `${whose.kind} "${whose.name}"`, runs, spend, askAt, askAtPercent };
}
