import type {
  Await,
  Checkpoint,
  Event,
  MessageRow,
  NewEvent,
  Outcome,
  Run,
  Session,
  SessionStatus,
  ToolUsageRow,
  UsageRow,
} from "@skein/protocol";
import type { FollowOptions, NewsListener } from "../log/followers.ts";
import type { PlatformStatus } from "../sessions/platform-status.ts";
import type { ZoneShift } from "../sessions/zone-days.ts";
import type { Records } from "./records.ts";

/** The right to drive one session for a limited time. During that time nobody else can append the driver's facts. */
export interface Lease {
  readonly sessionId: string;
  /** The fence only grows: every claim and every release increases it. A writer with an old fence is rejected. */
  readonly fence: number;
  readonly owner: string;
  readonly leaseMs: number;
}

/** The keys by which usage can be grouped. */
export type UsageKey = "day" | "model" | "agent" | "session" | "project" | "key";

/** Selects the runs whose usage is added up. A run counts for the time at which it began. */
export interface UsageQuery {
  readonly tenant: string;
  readonly by: UsageKey;
  /** Groups by a second key as well, such as day and model. Must differ from `by`. */
  readonly secondKey?: UsageKey | undefined;
  readonly agentId?: string;
  /** Only runs of this session. */
  readonly sessionId?: string;
  /** `from` is included, `to` is not. Both are ISO 8601 in UTC. */
  readonly from?: string;
  readonly to?: string;
  /** The time zone that decides when a day begins, as offsets. Default: UTC. */
  readonly shifts?: readonly ZoneShift[] | undefined;
}

/** Selects the tool calls that are counted. */
export type ToolUsageQuery = Omit<UsageQuery, "by" | "secondKey">;

/** Conditions of an append, and changes besides the log. */
export interface AppendOptions {
  /** Rejects with `not_found` if the session belongs to another tenant. */
  readonly tenant?: string;
  /** Rejects with `conflict` if the log does not end at this sequence. 0 means that the session must not exist yet. */
  readonly expect?: number;
  /** Rejects with `lease_lost` if this is not the current lease. The append renews the lease. */
  readonly lease?: Lease;
  /**
   * The idempotency key. The first append with a key is stored, and later appends with this key return its result. If
   * the fingerprint differs, the append is rejected with `key_reused`. The stored row of a key refers to events in the
   * log and contains no copy of the result.
   */
  readonly key?: { readonly id: string; readonly fingerprint: string };
  /** Takes the lease in the same transaction. Needs `expect`. `conflict` if another worker has the lease. */
  readonly claim?: { readonly owner: string; readonly leaseMs: number };
  /** When the session should be driven (ms since 1970). If the append has no lease, an earlier stored time stays in force. */
  readonly dueAt?: number;
  /**
   * Releases the lease in the same transaction, and sets when the session is due next (null means never). Needs `lease`
   * and `expect`. With `expect`, a worker cannot sleep past an event that it has not seen.
   */
  readonly release?: { readonly dueAt: number | null };
}

/** The stored events of an append. */
export interface Appended {
  readonly events: readonly Event[];
  /** True if the events were stored before, by an append with the same ids or the same key. */
  readonly repeated: boolean;
  /** The fence of the lease, if `claim` took one. A repeated append takes no lease. */
  readonly fence?: number;
}

/**
 * The result of `claim`: a lease, or the time at which another worker's lease ends, or the time at which the next
 * session is due.
 */
export type Claim =
  | { readonly kind: "leased"; readonly lease: Lease; readonly lastSequence: number }
  | { readonly kind: "busy"; readonly until: number }
  | { readonly kind: "none"; readonly nextAt: number | null };

/** Says who claims which session, and for how long. */
export interface ClaimOptions {
  readonly owner: string;
  readonly leaseMs: number;
  /** Claims this session, even if it is not due. Default: the session that has been due longest. */
  readonly sessionId?: string;
  /**
   * Takes the lease from another worker if the lease ends within this time (ms). Needs `sessionId`. Only for an engine
   * that knows that the other worker has stopped. Later writes of that worker are rejected.
   */
  readonly takeWithinMs?: number;
}

/** Selects the sessions that wait for a driver. */
export interface DueQuery {
  /** Due at this time (ms since 1970) or earlier. */
  readonly before: number;
  /** Selects only this session, even if it is leased. Default: all sessions without a lease. */
  readonly sessionId?: string;
  /** The most sessions of a tenant. The sessions that have waited longest are returned. */
  readonly perTenant?: number;
  readonly limit?: number;
}

/** A session that waits to be driven. */
export interface DueSession {
  readonly sessionId: string;
  readonly tenant: string;
  readonly lastSequence: number;
  readonly dueAt: number;
}

interface ReadOptions {
  readonly tenant?: string;
  /** Events with a greater sequence. 0, the default, reads from the start. */
  readonly after?: number;
  readonly limit?: number;
}

/** A folded state, stored so that a long log need not be folded again. It is ignored if it has another version than the fold. */
export interface Snapshot {
  readonly sequence: number;
  readonly version: number;
  readonly state: string;
}

/** Selects the sessions that match every given field. */
export interface SessionFilter {
  readonly tenant: string;
  readonly agentId?: string;
  /** The status in the platform API, or several statuses of which a session must have one. */
  readonly status?: PlatformStatus | readonly PlatformStatus[];
  /** The current status of the session. */
  readonly activity?: SessionStatus;
  /** How the last run ended. */
  readonly outcome?: Outcome;
  readonly model?: string;
  /** Only sessions that are not subagents of another session. */
  readonly topLevel?: boolean;
  /** Only sessions with a tool call whose effect is unknown. */
  readonly hasUnknownEffect?: boolean;
  /** A session must have all of these tags. */
  readonly tags?: readonly string[];
  /** Keys and values of the metadata, as `metadataPairs` makes them. A session must have all of them. */
  readonly metadata?: readonly (readonly [key: string, value: string])[];
  /** Text in the title, ignoring case. */
  readonly title?: string;
  /** Null selects sessions without a working directory. */
  readonly workingDirectory?: string | null;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly parentSessionId?: string;
  readonly subagentOfSessionId?: string;
}

/** A page of the list of sessions. */
export interface SessionQuery extends SessionFilter {
  /** `begun` (default): newest first. `used`: latest run first. `cost`: most expensive first. `title`: from A to Z. */
  readonly order?: "begun" | "used" | "cost" | "title";
  readonly limit?: number;
  /** The cursor of the previous page. */
  readonly cursor?: string;
  readonly offset?: number;
}

/** Selects the open awaits of a tenant. */
export interface OpenAwaitsQuery {
  readonly tenant: string;
  readonly agentId?: string;
  /** Only awaits of these kinds. */
  readonly kinds?: readonly Await["kind"][];
  readonly limit?: number;
  readonly cursor?: string;
}

/** Selects the sessions that changed and match every given field. */
export interface ChangedQuery {
  readonly tenant: string;
  readonly agentId?: string;
  /** Only sessions whose last event was written at this time or later, as ISO 8601 in UTC. */
  readonly since?: string;
  /** Only these sessions. Unknown ids are ignored. At most 1000. */
  readonly sessionIds?: readonly string[];
  readonly limit?: number;
  readonly cursor?: string;
}

/** A session, and the sequence of the last event of its log. */
export interface ChangedSession {
  readonly session: Session;
  readonly lastSequence: number;
}

/** What a list shows of a session in addition to its row. */
export interface SessionSummary {
  readonly sessionId: string;
  /** The last message of a person or the model in the transcript, with the first 200 characters of its text. */
  readonly lastMessage: {
    readonly role: "user" | "assistant";
    readonly text: string;
    readonly created_at: string;
  } | null;
  /** The kind of each open await of the session, so a kind may occur several times. Empty for an idle session. */
  readonly openAwaits: readonly Await["kind"][];
}

/** A message that contains the searched text. */
export interface TextPlace {
  readonly sessionId: string;
  readonly role: MessageRow["role"];
  /** The sequence of the event that contains the message. */
  readonly sequence: number;
  readonly created_at: string;
  /** The stored JSON around the text. */
  readonly json: string;
}

/** A page of a list, newest first unless documented otherwise. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The cursor for the next page; null at the end. */
  readonly cursor: string | null;
}

/** Selects a page of the messages or runs of a session. */
export interface PageOptions {
  readonly tenant?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * Stores logs, and decides who may drive a session.
 *
 * Only `append` changes a session, and `delete` removes it. `testing/store-contract.ts` tests these rules:
 *
 * 1. An append is stored completely or not at all, and is durable before `append` resolves. Sequences are 1..n without
 *    gap or repeat, even if many processes write at once. They come from a counter of the session, never from
 *    `MAX()+1`.
 * 2. The writer makes the ids. A repeated append with the same ids returns the stored events.
 * 3. Facts of the driver need the current lease, or take it with their append (`claim`). If a writer has lost or
 *    released its lease, its append is rejected as a whole. The append that begins a session needs no lease.
 * 4. `due_at` is the time when a session must be driven; null means never. Exactly one worker at a time claims a due
 *    session. If a wake-up arrives while a worker releases the session, the wake-up is not lost.
 * 5. Readers see events in the order of their sequence. `follow` has no gap and no repeat, even if other processes
 *    write.
 * 6. The data of an event is returned exactly as `JSON.stringify` made it, including NUL, lone surrogates and the order
 *    of keys.
 * 7. Projections (sessions, runs, messages, awaits, checkpoints) change in the same transaction as the log.
 * 8. A tenant cannot see or change a session of another tenant.
 * 9. A failure throws a `KnownError` (see `ErrorCode`) and leaves the store usable. Acknowledged events are never lost.
 */
export interface Store {
  /** Adds events to a log, and changes the projections with them. Rules 1 to 4 and 7. */
  append(sessionId: string, events: readonly NewEvent[], options?: AppendOptions): Promise<Appended>;
  /** Returns the events in order. Rejects with `not_found` if the session does not exist. */
  read(sessionId: string, options?: ReadOptions): Promise<readonly Event[]>;
  /** Yields the events like `read`, and then each new event, until the signal aborts or the session is deleted. */
  follow(
    sessionId: string,
    options: { readonly tenant?: string } & Partial<FollowOptions>,
    signal: AbortSignal,
  ): AsyncIterable<Event>;
  /** Yields all events, session by session and in order. Begins after the given event. */
  scan(after?: { readonly sessionId: string; readonly sequence: number }): AsyncIterable<Event>;

  /** Claims a session for a worker. Rule 4. */
  claim(options: ClaimOptions): Promise<Claim>;
  /** Returns the sessions that wait for a driver, without claiming them. The longest wait comes first. */
  due(query: DueQuery): Promise<readonly DueSession[]>;
  /** Renews leases in one round trip. Returns the leases that are lost. */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]>;
  /** Releases a lease without writing events. If the log has events after `seen`, the session stays due. */
  release(lease: Lease, next: { readonly seen: number; readonly dueAt: number | null }): Promise<void>;
  /** Returns the owners of all current leases, or of this session's lease. Engines use it to find dead owners. */
  owners(sessionId?: string): Promise<readonly string[]>;
  /**
   * Frees the leases of a dead owner, so that its sessions can be claimed at once. `withinMs` frees only leases that
   * expire within this time: use it if the owner may still be alive.
   */
  free(owner: string, options?: { readonly withinMs?: number }): Promise<void>;
  /** Calls the listener when a session has got events. Returns a function that unsubscribes. A call is only a hint. */
  onNews(listener: NewsListener): () => void;
  /** Makes followers of a session read its log again, because another process may have written to it. A needless call costs one read. */
  poke(sessionId: string): void;

  /** The row of a session, or undefined if the tenant has no such session. */
  get(sessionId: string, options?: { readonly tenant?: string }): Promise<Session | undefined>;
  list(query: SessionQuery): Promise<Page<Session>>;
  /** Counts the sessions that match. */
  count(filter: SessionFilter): Promise<number>;
  /** Sums the usage of runs, grouped by the keys of the query. The rows have no order. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Counts the ended tool calls by day and tool. The rows have no order. */
  toolUsage(query: ToolUsageQuery): Promise<readonly ToolUsageRow[]>;
  /** The messages of the transcript as rows of the platform API, oldest first. */
  messages(sessionId: string, options?: PageOptions): Promise<Page<MessageRow>>;
  /** The runs of a session, newest first. */
  runs(sessionId: string, options?: PageOptions): Promise<Page<Run>>;
  /** Open awaits, oldest first. */
  awaits(sessionId: string, options?: { readonly tenant?: string }): Promise<readonly Await[]>;
  /** Open awaits of all sessions of a tenant that are not idle, oldest first. */
  openAwaits(query: OpenAwaitsQuery): Promise<Page<Await>>;
  /**
   * Sessions of a tenant in the order of their last event, the oldest first. A session that changes while pages are read
   * moves towards the end, so it may be returned twice, but is never missed.
   */
  changed(query: ChangedQuery): Promise<Page<ChangedSession>>;
  /** Summaries of these sessions of a tenant, at most 200. In any order; unknown ids are left out. */
  summaries(tenant: string, sessionIds: readonly string[]): Promise<readonly SessionSummary[]>;
  /**
   * Finds a text in the transcripts of these sessions of a tenant (at most 200). Returns the latest messages with the
   * text, at most `MOST_PLACES` for a session. The search ignores case and reads the JSON of messages. So it finds
   * names of fields too, and `searchSessions` removes these.
   */
  search(tenant: string, sessionIds: readonly string[], text: string): Promise<readonly TextPlace[]>;
  /** The checkpoints of a session, oldest first. */
  checkpoints(sessionId: string, options?: { readonly tenant?: string }): Promise<readonly Checkpoint[]>;

  /** The last snapshot, or undefined. A snapshot may be lost: the log is enough. */
  readSnapshot(sessionId: string): Promise<Snapshot | undefined>;
  /** Replaces the snapshot. */
  writeSnapshot(sessionId: string, snapshot: Snapshot): Promise<void>;

  /** Removes a session from the log and every projection. Its forks do not change. Rejects with `not_found`. */
  delete(sessionId: string, options?: { readonly tenant?: string }): Promise<void>;

  /** Rejects with a `KnownError` if the disk is full or cannot be written. Stores without a disk lack this method. */
  check?(): Promise<void>;

  /** Stored data that is not a session: agents, models, keys, webhooks. */
  readonly records: Records;
  /** Waits for the writes in progress, then closes the store. Calls after that are rejected with `closed`. */
  close(): Promise<void>;
}
