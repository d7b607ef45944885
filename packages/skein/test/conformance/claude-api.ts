import { requests, responses } from "./claude-api-schemas.ts";
import { type ColumnCheck, type ConformanceList, type Entry, departure, index, section, there } from "./line.ts";

const AT = "timestamptz: a time without a zone means different instants on different machines.";

type Column = Omit<ColumnCheck, "check" | "view">;

const columns = (view: string, rows: readonly (readonly [what: string, check: Column])[]): readonly Entry[] =>
  rows.map(([what, { ...rest }]) => {
    const check: ColumnCheck = { check: "column", view, ...rest };
    return rest.type.startsWith("timestamp") ? departure(what, AT, check) : there(what, check);
  });

const at = (column: string): Column => ({ column, type: "timestamp with time zone", default: "now()", notNull: true });
const id = (column = "id"): Column => ({ column, type: "uuid", default: "gen_random_uuid()", notNull: true });

const BUSES = "packages/adapters/test/buses.test.ts";
const shown = (what: string, name: string): Entry => there(what, { check: "test", file: BUSES, name });

export const claudeApi: ConformanceList = {
  part: "Claude API",
  specification: "000",
  title: "Data model of an HTTP API around the Claude Agent SDK",
  lines: [
    ...section("Session", [
      ...columns("api.sessions", [
        ["id: UUID, primary key, default uuid4", id()],
        ["created_at: datetime, default now", at("created_at")],
        ["updated_at: datetime, default now, on update now", at("updated_at")],
        [
          'status: String(20), default "active"',
          { column: "status", type: "character varying", size: "20", default: "active", notNull: true },
        ],
        [
          "working_directory: String(500) or null",
          { column: "working_directory", type: "character varying", size: "500" },
        ],
        ["total_turns: int, default 0", { column: "total_turns", type: "integer", default: "0", notNull: true }],
        ["total_cost_usd: Numeric(10, 6) or null", { column: "total_cost_usd", type: "numeric", size: "10,6" }],
        ["parent_session_id: UUID or null", { column: "parent_session_id", type: "uuid" }],
        ["metadata: JSONB or null", { column: "metadata", type: "jsonb" }],
      ]),
      departure("model: String(50)", "100 characters, because ids of Bedrock are longer than 50.", {
        check: "column",
        view: "api.sessions",
        column: "model",
        type: "character varying",
        size: "100",
        notNull: true,
      }),
      departure("id: uuid4", "Skein makes UUID v7; ids from elsewhere are kept.", {
        check: "version 7",
        view: "api.sessions",
        column: "id",
      }),
      departure(
        "parent_session_id: ForeignKey(sessions.id)",
        "No foreign key, so a fork survives when its parent is deleted.",
        {
          check: "test",
          file: "packages/core/src/testing/projection-contract.ts",
          name: "a session can be forked at any message; this does not change the parent, and deleting the parent does not change the fork",
        },
      ),
      there("messages: relationship", {
        check: "query",
        query: "select m.id from api.session_messages m join api.sessions s on s.id = m.session_id",
      }),
      there("checkpoints: relationship", {
        check: "query",
        query: "select c.id from api.checkpoints c join api.sessions s on s.id = c.session_id",
      }),
    ]),
    ...section("Session: validation rules", [
      there("status is one of active, completed, error", {
        check: "values",
        view: "api.sessions",
        column: "status",
        values: ["active", "completed", "error"],
      }),
      there("the stored status has no other value", {
        check: "refused",
        write: "update skein.sessions set outcome = 'exploded'",
        code: "23514",
      }),
      there("model is a valid Claude model identifier", {
        check: "takes",
        schema: "QueryRequest",
        field: "model",
        values: ["sonnet", "opus", "haiku", "claude-sonnet-4-5"],
        refuses: ["gpt-4o", "claude", "", "claude-x; rm"],
      }),
      there("model has at most 100 characters where it is stored", {
        check: "refused",
        write: "update skein.sessions set model = repeat('m', 101)",
        code: "23514",
      }),
      there("working_directory has at most 500 characters", {
        check: "refused",
        write: "update skein.sessions set working_directory = repeat('w', 501)",
        code: "23514",
      }),
      there("total_turns >= 0", {
        check: "refused",
        write: "update skein.heads set total_turns = -1",
        code: "23514",
      }),
      departure(
        "total_cost_usd >= 0 if set",
        "Stored as micro-dollars, which cannot be negative, and shown in dollars.",
        {
          check: "refused",
          write: "update skein.heads set cost_micros = -1",
          code: "23514",
        },
      ),
    ]),
    ...section("Session: state transitions", [
      there("active → completed", {
        check: "query",
        query: "select id from api.sessions where status = 'completed'",
      }),
      there("active → error", { check: "query", query: "select id from api.sessions where status = 'error'" }),
      departure(
        "no transitions from completed or error",
        "completed and error are outcomes of a run. A resume opens a new run, and the session is active again, because the specification requires that a resume can answer a question. A cancelled run is error.",
        {
          check: "query",
          query:
            "select session_id from api.session_messages where message_type = 'result' group by 1 having count(*) > 1",
        },
      ),
    ]),
    ...section("SessionMessage", [
      ...columns("api.session_messages", [
        ["id: UUID, primary key, default uuid4", id()],
        ["session_id: UUID, foreign key, indexed", { column: "session_id", type: "uuid", notNull: true }],
        ["message_type: String(20)", { column: "message_type", type: "character varying", size: "20", notNull: true }],
        ["content: JSONB", { column: "content", type: "jsonb", notNull: true }],
        ["created_at: datetime, default now", at("created_at")],
      ]),
      there("message_type is one of user, assistant, system, result", {
        check: "values",
        view: "api.session_messages",
        column: "message_type",
        values: ["user", "assistant", "system", "result"],
      }),
      departure(
        "content is valid JSON",
        "Stored as json, which keeps NUL, lone surrogates and the order of keys. Shown as jsonb, in which those characters are U+FFFD.",
        { check: "refused", write: "update skein.messages set content = 'not json'", code: "22P02" },
      ),
    ]),
    ...section("Checkpoint", [
      ...columns("api.checkpoints", [
        ["id: UUID, primary key, default uuid4", id()],
        ["session_id: UUID, foreign key, indexed", { column: "session_id", type: "uuid", notNull: true }],
        [
          "user_message_uuid: String(100)",
          { column: "user_message_uuid", type: "character varying", size: "100", notNull: true },
        ],
        ["created_at: datetime, default now", at("created_at")],
        ["files_modified: ARRAY(String)", { column: "files_modified", type: "ARRAY", notNull: true }],
      ]),
      departure(
        "user_message_uuid is unique across all checkpoints",
        "Unique in its session, because a fork copies ids of messages.",
        {
          check: "test",
          file: "packages/core/src/testing/projection-contract.ts",
          name: "an append with a second checkpoint for one user message is rejected as a whole",
        },
      ),
      there("user_message_uuid has at most 100 characters", {
        check: "refused",
        write: "update skein.checkpoints set user_message_uuid = repeat('u', 101)",
        code: "23514",
      }),
      there("files_modified is a list of absolute paths", {
        check: "refused",
        write: "update skein.checkpoints set files_modified = '{relative}'",
        code: "23514",
      }),
    ]),
    ...section("Redis cache structures", [
      ...[
        "session:{session_id}",
        "session:{session_id}: TTL 3600 seconds",
        "session:{session_id}: id",
        "session:{session_id}: status",
        "session:{session_id}: model",
        "session:{session_id}: created_at",
        "session:{session_id}: last_activity",
      ].map((what) => shown(what, "session:{id} has five fields and expires after an hour")),
      shown("active_connections: SET of session_id", "active_connections is the set of sessions that somebody follows"),
      ...["session_lock:{session_id}", "session_lock:{session_id}: TTL 300 seconds"].map((what) =>
        shown(
          what,
          "session_lock:{id} names the machine that runs the session, for five minutes or until the run is over",
        ),
      ),
      departure(
        "session_lock:{session_id}: value connection_id",
        "The machine that runs the session, because a run belongs to no connection. Skein never reads it: the lease in the store decides.",
        {
          check: "test",
          file: BUSES,
          name: "session_lock:{id} names the machine that runs the session, for five minutes or until the run is over",
        },
      ),
    ]),
    ...requests,
    ...responses,
    ...section("Entity relationships", [
      there("Session (1) < (N) SessionMessage", {
        check: "query",
        query: "select session_id from api.session_messages group by session_id having count(*) > 1",
      }),
      there("Session (1) < (N) Checkpoint", { check: "query", query: "select session_id from api.checkpoints" }),
      there("Session < (0..1) Session, parent_session_id for forks", {
        check: "query",
        query: "select f.id from api.sessions f join api.sessions p on p.id = f.parent_session_id",
      }),
    ]),
    ...section("Indexes", [
      index("idx_sessions_status", "select id from api.sessions where status = 'error'"),
      index("idx_sessions_created_at", "select id from api.sessions order by created_at desc limit 5"),
      index("idx_sessions_parent", "select id from api.sessions where parent_session_id = {agent}"),
      index("idx_messages_session_id", "select id from api.session_messages where session_id = {agent}"),
      index(
        "idx_messages_created_at",
        "select id from api.session_messages where created_at > now() - interval '1 hour'",
      ),
      index("idx_checkpoints_session_id", "select id from api.checkpoints where session_id = {agent}"),
      index(
        "idx_checkpoints_uuid",
        "select id from api.checkpoints where session_id = {agent} and user_message_uuid = 'u'",
      ),
    ]),
  ],
};
