import { z } from "zod";
import { ApiCap } from "./cap-shapes.ts";

/** Who calls, and which server answers. */
export const Me = z.object({
  key: z.object({
    /** The first 12 characters of the key's hash, as `skein keys list` shows it. */
    id: z.string(),
    name: z.string(),
    /** Who is responsible for the key. */
    owner: z.string().nullable(),
    /** When the key expires; null if it does not. */
    expires_at: z.iso.datetime().nullable(),
    scopes: z.array(z.enum(["read", "run", "sql", "admin"])),
  }),
  tenant: z.string(),
  /** The caps for runs of this key: its own, those of its tenant, and those of the tenant's agents. */
  caps: z.array(ApiCap),
  /** When the login of the cookie ends; null if the request sent the key itself. */
  expires_at: z.iso.datetime().nullable(),
  server: z.object({
    version: z.string(),
    store: z.string(),
    model: z.object({ name: z.string(), simulated: z.boolean() }),
    /**
     * Whether this server answers SQL; if not, the reason. `history`: whether statements of this key may read the sessions of
     * coding agents. Otherwise their tables are empty.
     */
    sql: z.object({ available: z.boolean(), reason: z.string().nullable(), history: z.boolean() }),
    /** Whether this key may read Claude Code's own sessions on this server; if not, the reason. */
    history: z.object({
      available: z.boolean(),
      reason: z.string().nullable(),
      /**
       * The folders that the operator opened. Empty if this key may not read them, or if they are the usual folders of
       * the operator's account.
       */
      roots: z.array(z.string()),
    }),
    claude_code: z.boolean(),
    console: z.boolean(),
  }),
});
