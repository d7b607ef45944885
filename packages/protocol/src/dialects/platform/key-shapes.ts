import { z } from "zod";
import { Line } from "../../agent.ts";
import { ApiCap } from "./cap-shapes.ts";

/** What a key may do. docs/reference/http.md describes each scope. */
const ApiScope = z.enum(["read", "run", "sql", "admin"]);

/** The first characters of a key's hash. Lists show 12 of them. */
export const KeyId = z.string().regex(/^[0-9a-f]{12,64}$/, "Expected the id of a key: 12 to 64 hexadecimal digits.");

/** A key in a list. The secret text of the key is not part of it. */
export const ApiKey = z.object({
  id: z.string(),
  name: z.string(),
  /** Who is responsible for the key. */
  owner: z.string().nullable(),
  scopes: z.array(ApiScope),
  created_at: z.iso.datetime(),
  /** The time at which the key expires. Null if the key does not expire. */
  expires_at: z.iso.datetime().nullable(),
  /** The last use, rounded to a minute. Null if the key was never used. */
  last_used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  /** The id of the key that replaced this key. */
  replaced_by: z.string().nullable(),
  state: z.enum(["valid", "expired", "revoked"]),
});
export type ApiKey = z.infer<typeof ApiKey>;

/** A key is shown only once. In the response to a repeated request, `key` is null. */
export const MadeApiKey = ApiKey.extend({ key: z.string().nullable() });

export const ApiKeyInput = z.strictObject({
  name: Line.min(1).max(100),
  owner: Line.min(1).max(200).nullable().optional(),
  scopes: z.array(ApiScope).min(1).max(4),
  expires_at: z.iso.datetime({ offset: true }).nullable().optional(),
});

export const ApiKeyRotation = z.strictObject({
  /** The number of seconds for which the old key stays valid. */
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * 24 * 3600)
    .default(3600),
  /** Default: the lifetime of the old key. */
  expires_at: z.iso.datetime({ offset: true }).nullable().optional(),
});

/**
 * Says what a key may do, in sentences and as rules. If a rule is null, the key may use everything that the operator
 * allows on this server.
 */
export const ApiKeyPolicy = z.object({
  key: z.object({ id: z.string(), name: z.string(), scopes: z.array(ApiScope) }),
  tenant: z.string(),
  sentences: z.array(z.string()),
  rules: z.object({
    runtimes: z.array(z.string()).nullable(),
    tools: z.array(z.string()).nullable(),
    permission_modes: z.array(z.string()).nullable(),
    models: z.array(z.string()).nullable(),
    folders: z.array(z.string()).nullable(),
    hosts: z.array(z.string()).nullable(),
    concurrent_runs: z.number().nullable(),
    spend_per_day_usd: z.number().nullable(),
    /** At this percentage of the limit, a person must approve further spending. Null if no approval is needed. */
    spend_ask_at_percent: z.number().nullable(),
  }),
  /** The caps of this key, of its tenant and of the tenant's agents. */
  caps: z.array(ApiCap),
});
