import type { Policy } from "../policy/policy.ts";
import { policyOf } from "../policy/policy.ts";

/** Whom a run belongs to, as far as caps depend on it. */
export interface RunOwner {
  readonly tenant: string;
  /** The key that asked for the run; null if nobody did over HTTP. */
  readonly keyName: string | null;
  readonly agentName: string;
}

/** A rule of the operator about runs of one key, agent or tenant together. */
export interface Cap {
  /** Tells this cap from others, in every process of a store. */
  readonly scope: string;
  /** Whose cap it is, for sentences: `key "ci"`. */
  readonly of: string;
  /** Runs that may be under way at the same time. */
  readonly runs: number | undefined;
  /** Pico-dollars a day. */
  readonly spend: bigint | undefined;
  /** From this amount on somebody is asked; undefined if nobody is. */
  readonly askAt: bigint | undefined;
}

const DEFAULT_ASK_PERCENT = 80;
const PICOS_PER_DOLLAR = 1_000_000_000_000;

/** The caps that count for a run: its key's, its agent's, its tenant's. */
export function capsOf(policy: Policy, { tenant, keyName, agentName }: RunOwner): readonly Cap[] {
  const ofKey = keyName === null ? undefined : policyOf(policy, { name: keyName, tenant });
  const ofTenant = policy.tenants[tenant] ?? policy.tenants["*"];
  return [
    capOf(`key:${tenant}/${keyName}`, `key "${keyName}"`, ofKey),
    capOf(`agent:${tenant}/${agentName}`, `agent "${agentName}"`, policy.agents[agentName]),
    capOf(`tenant:${tenant}`, `tenant "${tenant}"`, ofTenant),
  ].flatMap((cap) => cap ?? []);
}

type Rules = Pick<Policy, "concurrentRuns" | "spendPerDayUsd" | "spendAskAtPercent">;

function capOf(scope: string, of: string, rules: Rules | undefined): Cap | undefined {
  const { concurrentRuns: runs, spendPerDayUsd, spendAskAtPercent = DEFAULT_ASK_PERCENT } = rules ?? {};
  if (runs === undefined && spendPerDayUsd === undefined) return undefined;
  const spend = spendPerDayUsd === undefined ? undefined : BigInt(Math.round(spendPerDayUsd * PICOS_PER_DOLLAR));
  const askAt =
    spend === undefined || spendAskAtPercent === false ? undefined : (spend * BigInt(spendAskAtPercent)) / 100n;
  return { scope, of, runs, spend, askAt };
}
