import { z } from "zod";

/** The codes of errors that a caller can react to. Programs use the code, and people read the message. */
export const ErrorCode = z.enum([
  /** The input does not fit its schema or a rule of the API. */
  "invalid",
  /** The requested object does not exist, or belongs to another tenant. */
  "not_found",
  /** An object with this id exists already and has other content. */
  "already_exists",
  /** The log has more events than the caller expected (`expect`), or the record has a newer version. */
  "conflict",
  /**
   * The writer's lease (its exclusive right to run the session) has ended: another worker works on the session, or this
   * worker has released the lease.
   */
  "lease_lost",
  /** Only the worker with the session's lease may append this fact. */
  "lease_required",
  /** An earlier request with other content had the same idempotency key. */
  "key_reused",
  /** The session has no run that can be cancelled. */
  "not_running",
  /** The await is unknown, or was answered, or has timed out. */
  "not_awaiting",
  /** The agent is archived. */
  "archived",
  /** A body, file or list is over its limit. */
  "too_large",
  /** Another process has opened this store and locked it. */
  "store_locked",
  /** Another program has changed or damaged the store's files or rows. */
  "store_corrupt",
  /** The store was written by a newer version of Skein. */
  "store_too_new",
  /** The store cannot be reached now. A later attempt may succeed. */
  "store_unavailable",
  /** The storage of generated files cannot be reached now. A later attempt may succeed. */
  "files_unavailable",
  /** The disk is full. No event of the append was stored. */
  "disk_full",
  /** The store's folder or file cannot be written. */
  "read_only",
  /** The store was closed. */
  "closed",
  /** The operator of this server has not allowed this operation. */
  "not_allowed",
  /** The operator has not allowed this argument for a child process. */
  "arg_not_allowed",
  /** The server may not send requests to this address. */
  "url_not_allowed",
  /** This version of Skein does not know the type or version of an event. */
  "unreadable",
  /** DuckDB rejected the statement, or crashed on it. */
  "statement_failed",
  /** The statement needs too much time, memory or disk space. */
  "over_limit",
  /** This machine has no sandbox for SQL statements. */
  "sandbox_missing",
  /** A secret cannot be decrypted, because its key is missing or the secret was changed. */
  "secret_sealed",
  /** An optional package that this operation needs is not installed. */
  "not_installed",
]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** A failure as data inside a fact. */
export const Failure = z.object({
  code: z.string(),
  message: z.string(),
  /** The HTTP status, if the failure came over HTTP. */
  status: z.int().optional(),
});
export type Failure = z.infer<typeof Failure>;
