import { z } from "zod";

/** An entry of the audit log. Entries are never changed. */
export const AuditEntry = z.object({
  /** A UUID v7, so that ids are ordered by time. */
  id: z.string(),
  created_at: z.iso.datetime(),
  /** The action, such as `key.create`, `session.delete` or `await.answer`. */
  action: z.string(),
  /** The target of the action: an id, or a name. Null if the action has no target. */
  target: z.string().nullable(),
  outcome: z.enum(["done", "refused", "failed"]),
  /**
   * The name of the API key. `operator` for a command on the server's machine. Null for a caller without a valid key.
   */
  actor: z.string().nullable(),
  /** The first 12 digits of the key's id. */
  key_id: z.string().nullable(),
  /** The address of the caller. Null for actions of the server. */
  address: z.string().nullable(),
  request_id: z.string().nullable(),
  /** Why the action was rejected or failed, in a sentence. */
  detail: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;
