import { z } from "zod";
import { ApiCap } from "./cap-shapes.ts";

/** The caller and the server. */
export const Me = z.object({
  key: z.object({
    /** The first 12 characters of the key's hash, as `skein keys list` shows it. */
    id: z.string(),
    name: z.string(),
    /** Who is responsible for the key. */
    owner: z.string().nullable(),
    /** The time at which the key expires. Null if the key does not expire. */
    expires_at: z.iso.datetime().nullable(),
    scopes: z.array(z.enum(["read", "run", "sql", "admin"])),
  }),
  tenant: z.string(),
  /** The caps of this key, of its tenant and of the tenant's agents. */
  caps: z.array(ApiCap),
  /** The end of the login. Null if the request has a key instead of a cookie. */
  expires_at: z.iso.datetime().nullable(),
  server: z.object({
    version: z.string(),
    store: z.string(),
    model: z.object({ name: z.string(), simulated: z.boolean() }),
    /**
     * `reason` says why this server does not run SQL statements. If `history` is false, the tables of coding agents are
     * empty for this key.
     */
    sql: z.object({ available: z.boolean(), reason: z.string().nullable(), history: z.boolean() }),
    /** `reason` says why this key cannot read the sessions of coding agents on this server. */
    history: z.object({
      available: z.boolean(),
      reason: z.string().nullable(),
      /**
       * The folders that the operator named. Empty if this key may not read the folders, or if the server reads the
       * default folders.
       */
      roots: z.array(z.string()),
    }),
    claude_code: z.boolean(),
    console: z.boolean(),
  }),
});
