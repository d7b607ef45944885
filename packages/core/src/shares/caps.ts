import type { Policy } from "../policy/policy.ts";
import { policyOf, tenantRules } from "../policy/policy.ts";

/** The API key, agent and tenant of a run, on which the caps of the run depend. */
export interface RunOwner {
  readonly tenant: string;
  /** The name of the API key that asked for the run; null if the run was not requested over HTTP. */
  readonly keyName: string | null;
  readonly agentName: string;
}

/** A limit that the operator set for all runs of one API key, agent or tenant together. */
export interface Cap {
  /** The id of this cap, which is the same in all processes of a store. */
  readonly scope: string;
  readonly kind: "key" | "agent" | "tenant";
  readonly name: string;
  /** The owner of the cap in error texts, for example `key "ci"`. */
  readonly of: string;
  /** The most runs that may be in progress at the same time. */
  readonly runs: number | undefined;
  /** The most that may be spent per day, in pico-dollars. */
  readonly spend: bigint | undefined;
  /** The spending at which people are asked whether runs may continue; undefined if nobody is asked. */
  readonly askAt: bigint | undefined;
  /** `askAt` as a percentage of `spend`. */
  readonly askAtPercent: number | undefined;
}

const DEFAULT_ASK_PERCENT = 80;
const PICOS_PER_DOLLAR = 1_000_000_000_000;

/** Returns the caps of the key, the agent and the tenant of a run. */
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
