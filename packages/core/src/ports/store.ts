import type {
  Await,
  Checkpoint,
  Event,
  MessageRow,
  NewEvent,
  Run,
  Session,
  SessionStatus,
  UsageRow,
} from "@skein/protocol";
import type { FollowOptions, NewsListener } from "../log/followers.ts";
import type { PlatformStatus } from "../sessions/platform-status.ts";
import type { Records } from "./records.ts";

/** The right to drive one session for a while. Nobody else writes driver's facts to it meanwhile. */
export interface Lease {
  readonly sessionId: string;
  /** Only grows: a claim and a release each raise it, so a writer with an old one is recognised and refused. */
  readonly fence: number;
  readonly owner: string;
  readonly leaseMs: number;
}

/** What runs used, added up. A run counts for the time at which it began. */
export interface UsageQuery {
  readonly tenant: string;
  readonly by: "day" | "model" | "agent" | "session";
  readonly agentId?: string;
  /** The first moment that counts, and the first that no longer does, as ISO 8601 in UTC. */
  readonly from?: string;
  readonly to?: string;
}

export interface AppendOptions {
  /** The session belongs to this tenant; for any other it does not exist. */
  readonly tenant?: string;
  /** Refuse with `conflict` unless the log ends exactly here. 0 = the session must not exist yet. */
  readonly expect?: number;
  /** Refuse with `lease_lost` unless this is the current lease. The append renews it. */
  readonly lease?: Lease;
  /**
   * Idempotency: the first append with this key is kept, the next ones are answered with what it stored.
   * Another fingerprint under the same key is refused with `key_reused`. The row points into the log, it holds no answer.
   */
  readonly key?: { readonly id: string; readonly fingerprint: string };
  /** Begin the session with its first lease, fence 1, so that whoever begins it can drive it without a second transaction. */
  readonly claim?: { readonly owner: string; readonly leaseMs: number };
  /** When the session should be driven (ms since 1970). Without a lease the earlier of this and what is set wins. */
  readonly dueAt?: number;
  /**
   * Give the lease back in the same transaction and set when the session is due next (null = asleep).
   * Needs `lease` and `expect`: whoever puts a session to sleep must say what it has seen, so that no wake-up is lost.
   */
  readonly release?: { readonly dueAt: number | null };
}

export interface Appended {
  readonly events: readonly Event[];
  /** True when these events were there already: the same ids or the same key came before. */
  readonly repeated: boolean;
}

/** What `claim` answers: a lease, or when it is worth asking again. */
export type Claim =
  | { readonly kind: "leased"; readonly lease: Lease; readonly lastSequence: number }
  | { readonly kind: "busy"; readonly until: number }
  | { readonly kind: "none"; readonly nextAt: number | null };

export interface ClaimOptions {
  readonly owner: string;
  readonly leaseMs: number;
  /** This session, due or not, instead of the one that has been due the longest. */
  readonly sessionId?: string;
}

interface ReadOptions {
  readonly tenant?: string;
  /** Events with a greater sequence. 0, the default, reads from the start. */
  readonly after?: number;
  readonly limit?: number;
}

/** A folded state kept so that a long log need not be folded again. Never trusted if the fold's version differs. */
export interface Snapshot {
  readonly sequence: number;
  readonly version: number;
  readonly state: string;
}

/** Which sessions: those that fit everything that is given. */
export interface SessionFilter {
  readonly tenant: string;
  readonly agentId?: string;
  /** In the platform API's words; one of them, where several are given. */
  readonly status?: PlatformStatus | readonly PlatformStatus[];
  /** What the session does now. */
  readonly activity?: SessionStatus;
  /** Only sessions that do not work for another one. */
  readonly topLevel?: boolean;
  /** All of them. */
  readonly tags?: readonly string[];
  /** Keys of the metadata and what they have there, as `metadataPairs` gives it. All of them. */
  readonly metadata?: readonly (readonly [key: string, value: string])[];
  /** In the title, in large or small letters. */
  readonly title?: string;
  /** Null: those that were given none. */
  readonly workingDirectory?: string | null;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly parentSessionId?: string;
  readonly subagentOfSessionId?: string;
}

export interface SessionQuery extends SessionFilter {
  /** What is newest: the session that began last, or the one that ran last. Unless told, the one that began. */
  readonly order?: "begun" | "used";
  readonly limit?: number;
  /** From the page before. */
  readonly cursor?: string;
  /** How many to leave out first. */
  readonly offset?: number;
}

/** What sessions of a tenant wait for. */
export interface OpenAwaitsQuery {
  readonly tenant: string;
  readonly agentId?: string;
  /** Only awaits of these kinds. */
  readonly kinds?: readonly Await["kind"][];
  readonly limit?: number;
  readonly cursor?: string;
}

/** Which sessions changed: those that fit everything that is given. */
export interface ChangedQuery {
  readonly tenant: string;
  readonly agentId?: string;
  /** Only sessions whose last event was written at this time or later, as ISO 8601 in UTC. */
  readonly since?: string;
  /** Only these sessions, as far as they are there. At most 1000. */
  readonly sessionIds?: readonly string[];
  readonly limit?: number;
  readonly cursor?: string;
}

/** A session, and the sequence of the last event of its log. */
export interface ChangedSession {
  readonly session: Session;
  readonly lastSequence: number;
}

/** What a list shows of a session beside its row. */
export interface SessionSummary {
  readonly sessionId: string;
  /** The last message of a person or the model in the transcript, with the first 200 characters of its text. */
  readonly lastMessage: {
    readonly role: "user" | "assistant";
    readonly text: string;
    readonly created_at: string;
  } | null;
  /** The kinds of its open awaits, once for each. Nothing for a session that is idle. */
  readonly openAwaits: readonly Await["kind"][];
}

/** A page of a list, newest first unless said otherwise. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Ask with this for the next page; null at the end. */
  readonly cursor: string | null;
}

export interface PageOptions {
  readonly tenant?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * Where logs live, and who may drive a session.
 *
 * One verb changes a session: `append`. (Deleting one is the honest exception.) The rules, each of which is a test in
 * `testing/store-contract.ts` that every driver runs:
 *
 * 1. An append is all or nothing and durable before it is answered. Sequences are 1..n without gap or repeat, however
 *    many write at once. They come from a counter on the session's head, never from `MAX()+1`.
 * 2. Ids are minted by the writer. Appending the same ids again returns what is stored, so an append whose answer was
 *    lost can be repeated.
 * 3. Facts of the driver need the current lease; a writer that lost or released its lease is refused, and nothing of
 *    its append is kept. The append that begins a session needs none, because nobody can drive what is not there yet.
 * 4. `due_at` is flag, timer and outbox in one: null = asleep, past = ready, future = timer. A session that is due is
 *    claimed by exactly one worker at a time; a wake-up that arrives while it is being put to sleep is not lost.
 * 5. Readers see events in the order of their sequence; a reader never sees n+1 before n. `follow` has no gap and no
 *    repeat, also when other processes write.
 * 6. The text of a body comes back exactly as `JSON.stringify` made it, NUL, lone surrogates and key order included.
 * 7. Projections (sessions, runs, messages, awaits, checkpoints) change in the same transaction as the log.
 * 8. Another tenant's session does not exist.
 * 9. Bad things have a known error (see ErrorCode), lose nothing, and leave the store usable.
 */
export interface Store {
  append(sessionId: string, events: readonly NewEvent[], options?: AppendOptions): Promise<Appended>;
  /** Events in order. Refuses with `not_found` if there is no such session. */
  read(sessionId: string, options?: ReadOptions): Promise<readonly Event[]>;
  /** Like `read`, then live, until the signal aborts or the session is deleted. */
  follow(
    sessionId: string,
    options: { readonly tenant?: string } & Partial<FollowOptions>,
    signal: AbortSignal,
  ): AsyncIterable<Event>;
  /** Every event of every session, session by session, each in order. Resumes after the given place. */
  scan(after?: { readonly sessionId: string; readonly sequence: number }): AsyncIterable<Event>;

  claim(options: ClaimOptions): Promise<Claim>;
  /** Prolongs leases, in one round trip. Answers the ones that are lost. */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]>;
  /** Gives a lease back without writing. `seen` is the last sequence the worker knows: if there is more, the session stays due. */
  release(lease: Lease, next: { readonly seen: number; readonly dueAt: number | null }): Promise<void>;
  /** Owners that hold a lease now, for an engine that looks for the dead ones of its own host. */
  owners(): Promise<readonly string[]>;
  /** Frees every lease of an owner that is known to be dead, so that its sessions can be claimed at once. */
  free(owner: string): Promise<void>;
  /** Calls back for sessions that have news, from this process or another. A hint: the log is the truth. */
  onNews(listener: NewsListener): () => void;
  /** Somebody heard that another process wrote to this session: whoever follows it looks. Wrong or doubled, it costs a look. */
  poke(sessionId: string): void;

  get(sessionId: string, options?: { readonly tenant?: string }): Promise<Session | undefined>;
  list(query: SessionQuery): Promise<Page<Session>>;
  count(filter: SessionFilter): Promise<number>;
  /** What runs used, added up by day, model, agent or session. In no order. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** The platform API's rows, oldest first. */
  messages(sessionId: string, options?: PageOptions): Promise<Page<MessageRow>>;
  runs(sessionId: string, options?: PageOptions): Promise<Page<Run>>;
  /** Open awaits, oldest first. */
  awaits(sessionId: string, options?: { readonly tenant?: string }): Promise<readonly Await[]>;
  /** Open awaits of all sessions of a tenant that run, oldest first. */
  openAwaits(query: OpenAwaitsQuery): Promise<Page<Await>>;
  /**
   * Sessions of a tenant in the order of their last event, the oldest first. A session that changes while pages are read
   * moves towards the end, so it may come twice and is never left out.
   */
  changed(query: ChangedQuery): Promise<Page<ChangedSession>>;
  /** What a list shows of these sessions of a tenant, at most 200, beside their rows. In no order; what is not there is left out. */
  summaries(tenant: string, sessionIds: readonly string[]): Promise<readonly SessionSummary[]>;
  /** Oldest first. */
  checkpoints(sessionId: string, options?: { readonly tenant?: string }): Promise<readonly Checkpoint[]>;

  readSnapshot(sessionId: string): Promise<Snapshot | undefined>;
  writeSnapshot(sessionId: string, snapshot: Snapshot): Promise<void>;

  /** Removes the session from the log and every projection. Its forks stay whole. Refuses with `not_found`. */
  delete(sessionId: string, options?: { readonly tenant?: string }): Promise<void>;

  readonly records: Records;
  close(): Promise<void>;
}
