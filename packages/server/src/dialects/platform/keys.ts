import type { KeyPolicy } from "@skein/core";
import type { ApiKey } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import { type KeyInfo, OPERATOR, isGood, keyIdOf } from "../../keys.ts";
import { capsOfKey } from "./caps.ts";
import type { Handlers, RequestContext, ServerContext } from "../../request-context.ts";

/** Routes for the keys of the caller's tenant. Keys of other tenants stay hidden. */
export const keyHandlers = {
  async getPolicy(_, call) {
    return policyOf(call, await keyOf(call.shared, call.principal.tenant, call.principal.keyId));
  },
  async getKeyPolicy({ params }, call) {
    return policyOf(call, await keyOf(call.shared, call.principal.tenant, params.key_id));
  },
  async listKeys(_, { shared, principal }) {
    const all = await shared.keys.list(principal.tenant);
    return { data: await Promise.all(all.map((key) => shown(shared, key))) };
  },
  async createKey({ body: { name, scopes, owner, expires_at } }, call) {
    const { shared, principal } = call;
    const { tenant } = principal;
    checkName(name, call);
    const taken = (await shared.keys.list(tenant)).some((key) => key.name === name && isGood(key, shared.now()));
    if (taken)
      throw new ApiError(
        "already_exists",
        `There is a key "${name}" already. Rotate or revoke it, or choose another name.`,
      );
    return made(call, await shared.keys.make({ name, scopes, tenant, owner, expiresAt: expires_at }));
  },
  async rotateKey({ params, body: { overlap_seconds, expires_at } }, call) {
    const { id } = await keyOf(call.shared, call.principal.tenant, params.key_id);
    const options = { overlapMs: overlap_seconds * 1000, ...(expires_at !== undefined && { expiresAt: expires_at }) };
    return made(call, await call.shared.keys.rotate(id, options));
  },
  async revokeKey({ params }, { shared, principal }) {
    const key = await keyOf(shared, principal.tenant, params.key_id);
    const isLeft = (await shared.keys.list(principal.tenant)).some(
      (other) => other.id !== key.id && other.scopes.includes("admin") && isGood(other, shared.now()),
    );
    if (key.scopes.includes("admin") && isGood(key, shared.now()) && !isLeft)
      throw new ApiError("conflict", "This is the last admin key of the tenant. Make another one first.");
    if (key.revoked_at === null) await shared.keys.revoke(key.id);
    return undefined;
  },
} satisfies Partial<Handlers>;

/**
 * Rejects names for which the operator has rules. Rules grant rights by name, so another tenant could get these rights
 * by giving a key that name. In a rule, `TENANT/NAME` is the key of one tenant.
 */
function checkName(name: string, { shared, principal }: RequestContext): void {
  const isOwn = principal.tenant === OPERATOR && !name.includes("/");
  if (isOwn || !shared.deps.hasKeyRules?.(name)) return;
  throw new ApiError(
    "not_allowed",
    `The operator of this server has rules for keys named "${name}". Choose another name, or ask the operator to make this key.`,
  );
}

async function keyOf(shared: ServerContext, tenant: string, id: string): Promise<KeyInfo> {
  const found = (await shared.keys.list(tenant)).filter((key) => key.id.startsWith(id));
  const [key] = found;
  if (!key || found.length > 1) throw new ApiError("not_found", `This tenant has no key ${id.slice(0, 12)}.`);
  return key;
}

async function made({ shared, principal }: RequestContext, key: string): Promise<ApiKey & { key: string }> {
  return { ...(await shown(shared, await keyOf(shared, principal.tenant, keyIdOf(key)))), key };
}

async function shown({ now, keyUses }: ServerContext, key: KeyInfo): Promise<ApiKey> {
  const { tenant: _tenant, id, replaced_by, ...rest } = key;
  return {
    ...rest,
    id: id.slice(0, 12),
    replaced_by: replaced_by?.slice(0, 12) ?? null,
    last_used_at: await keyUses.lastUse(id),
    state: isGood(key, now()) ? "valid" : key.revoked_at === null ? "expired" : "revoked",
  };
}

async function policyOf(call: RequestContext, { id, name, tenant, scopes }: KeyInfo) {
  const { deps } = call.shared;
  const principal = { keyId: id, name, tenant, scopes };
  const rules: KeyPolicy = deps.policyOf?.(principal) ?? {};
  const caps = await capsOfKey(call, name);
  return {
    key: { id: id.slice(0, 12), name, scopes },
    tenant,
    sentences: [...((await deps.explainKey?.(principal)) ?? [])],
    rules: {
      runtimes: rules.runtimes ?? null,
      tools: rules.tools ?? null,
      permission_modes: rules.permissionModes ?? null,
      models: rules.models ?? null,
      folders: rules.folders ?? null,
      hosts: rules.hosts ?? null,
      concurrent_runs: rules.concurrentRuns ?? null,
      spend_per_day_usd: rules.spendPerDayUsd ?? null,
      spend_ask_at_percent: caps.find(({ of }) => of === "key")?.spend?.ask_at_percent ?? null,
    },
    caps,
  };
}
