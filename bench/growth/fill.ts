/**
 * Fills a database with copies of its sessions. PostgreSQL makes the copies, each with new ids and times. Indexes are
 * created at the end.
 */
import pg from "pg";

export interface FillOptions {
  readonly url: string;
  /** The approximate number of sessions that the database has afterwards. */
  readonly sessions: number;
  /** The copies have start times within this number of days before now. */
  readonly days?: number;
  /** The number of connections that fill the database. */
  readonly at?: number;
  readonly progress?: (done: number) => void;
}

export interface Filled {
  readonly sessions: number;
  readonly events: number;
  readonly bytes: number;
  readonly seconds: number;
}

const CHUNK = 5000;
/** The maximum number of ids in the body of an event. */
const IDS_PER_BODY = 4;

const TABLES = ["heads", "sessions", "session_tags", "runs", "run_models", "messages", "log_events"] as const;

export async function fillPostgres(options: FillOptions): Promise<Filled> {
  const { url, sessions, days = 365, at = 2, progress = () => {} } = options;
  const began = performance.now();
  const clients = await Promise.all(Array.from({ length: at }, () => connected(url)));
  const [first] = clients as [pg.Client];
  await first.query(PREPARE);
  if ((await countTemplates(first)) === 0) throw new Error("The database has no session that could be copied.");
  for (const table of TABLES)
    if (table !== "log_events")
      await first.query(`create table skein.fill_${table} as select r.* from skein.${table} r
        where r.${table === "sessions" ? "id" : "session_id"} in (select session_id from skein.fill_ids)`);
  await first.query("analyze");
  const indexes = await withoutIndexes(first);
  const statements = await copies(first, days);
  let next = 0;
  let done = 0;
  await Promise.all(
    clients.map(async (client) => {
      await client.query("set synchronous_commit = off; set work_mem = '64MB'");
      while (next < sessions) {
        const from = next;
        next += CHUNK;
        const to = Math.min(from + CHUNK, sessions);
        for (const statement of statements) await client.query(statement, [from + 1, to]);
        progress((done += to - from));
      }
    }),
  );
  await first.query("set maintenance_work_mem = '512MB'; set max_parallel_maintenance_workers = 2");
  for (const definition of indexes) await first.query(definition);
  await first.query(`${TABLES.map((name) => `alter table skein.${name} enable trigger user`).join(";")};
    delete from skein.session_counts;
    with noted as (delete from skein.count_changes)
    insert into skein.session_counts
    select s.tenant, s.agent_id, s.subagent_of_session_id is null, s.status, coalesce(s.outcome, ''), count(*)
    from skein.sessions s group by 1, 2, 3, 4, 5`);
  await first.query("vacuum analyze");
  await first.query(
    "insert into skein.open_runs select r.id, r.session_id from skein.runs r where r.outcome is not null on conflict do nothing",
  );
  await first.query(
    "delete from skein.usage_days; delete from skein.tool_days; delete from skein.usage_quarters; delete from skein.tool_quarters; set work_mem = '256MB'; select skein.roll_up(2000000000)",
  );
  await first.query(
    `drop table ${TABLES.map((table) => `skein.fill_${table.replace("log_", "")}`).join(", ")}, skein.fill_ids`,
  );
  await first.query("vacuum analyze");
  const size = await first.query<{ sessions: number; events: number; bytes: string }>(`select
    (select count(*)::integer from skein.sessions) as sessions, (select count(*)::integer from skein.log_events) as events,
    pg_database_size(current_database()) as bytes`);
  await Promise.all(clients.map((client) => client.end()));
  const [found] = size.rows;
  return {
    sessions: found?.sessions ?? 0,
    events: found?.events ?? 0,
    bytes: Number(found?.bytes),
    seconds: (performance.now() - began) / 1000,
  };
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  // A lost connection also makes the query fail, so this event can be ignored.
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function countTemplates(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ templates: number }>(
    "select count(distinct template)::integer as templates from skein.fill_ids",
  );
  return rows[0]?.templates ?? 0;
}

/**
 * Prepares two tables. `fill_ids` has the ids in the sessions to copy. Three digits identify an id within its session.
 * `fill_events` has the events of these sessions, with the ids in each body. An id of a copy consists of a time, the
 * three digits, and the number of the copy.
 */
const PREPARE = `
create table skein.fill_ids as
  select s.template, s.session_id, i.id,
    lpad(to_hex(row_number() over (partition by s.session_id order by i.id)), 3, '0') as digits
  from (
    select row_number() over (order by id) - 1 as template, id as session_id from skein.sessions
    where outcome is not null and status = 'idle') s
  cross join lateral (
    select s.session_id as id
    union select r.id from skein.runs r where r.session_id = s.session_id
    union select m.message_id from skein.messages m where m.session_id = s.session_id
    union select m.id from skein.messages m where m.session_id = s.session_id
    union select e.id from skein.events e where e.session_id = s.session_id) i;
create index on skein.fill_ids (session_id, id);
create table skein.fill_events as
  select e.*, (
    select array_agg(x.id::text) from skein.fill_ids x
    where x.session_id = e.session_id and strpos(e.data::text, x.id::text) > 0) as ids, (
    select array_agg(x.digits) from skein.fill_ids x
    where x.session_id = e.session_id and strpos(e.data::text, x.id::text) > 0) as digits
  from skein.events e where e.session_id in (select session_id from skein.fill_ids)`;

/** Disables triggers and drops indexes, which slow down inserts. Returns the statements that make the indexes again. */
async function withoutIndexes(client: pg.Client): Promise<readonly string[]> {
  for (const name of TABLES) await client.query(`alter table skein.${name} disable trigger user`);
  const { rows } = await client.query<{ name: string; definition: string; table: string; key: string | null }>(`
    select i.relname as name, pg_get_indexdef(x.indexrelid) as definition, t.relname as table,
      (select pg_get_constraintdef(c.oid) from pg_constraint c where c.conindid = x.indexrelid and c.contype in ('p', 'u')) as key
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
    where t.relnamespace = 'skein'::regnamespace and t.relname in ('runs', 'run_models', 'messages', 'log_events')`);
  const again: string[] = [];
  for (const { name, definition, table, key } of rows) {
    await client.query(key ? `alter table skein.${table} drop constraint ${name}` : `drop index skein.${name}`);
    again.push(
      key ? `alter table skein.${table} add constraint ${name} ${key}` : definition.replace(" ON ONLY ", " ON "),
    );
  }
  return again;
}

/** Returns one statement for each table. It inserts the rows of the copied sessions with new ids and times. */
async function copies(client: pg.Client, days: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ table: string; column: string; type: string }>(
    `select table_name as table, column_name as column, data_type as type from information_schema.columns
    where table_schema = 'skein' and is_generated = 'NEVER' and table_name = any($1) order by ordinal_position`,
    [TABLES],
  );
  const templates = await countTemplates(client);
  // All tables use the same time, because an id contains a time and must be equal in all tables. The session to copy
  // depends on the number of the copy.
  const now = Math.floor(Date.now() / 60_000) * 60_000;
  const copied = `(
      select c.copy, c.ms, f.session_id, b.created_at,
        regexp_replace(lpad(to_hex(c.ms), 12, '0'), '(.{8})(.{4})', '\\1-\\2-7') as head,
        regexp_replace(lpad(to_hex(c.copy), 15, '0'), '(.{3})(.{12})', '-8\\1-\\2') as tail
      from (
        select copy, ${now}::bigint - (copy::bigint * 7919 % ${days * 1440}) * 60000 - 60000 as ms
        from generate_series($1::integer, $2::integer) copy offset 0) c
      join skein.fill_ids f on f.template = c.copy % ${templates} and f.id = f.session_id
      join skein.fill_sessions b on b.id = f.session_id offset 0) c`;
  const ids = new Set(["id", "session_id", "run_id", "message_id"]);
  return TABLES.map((table) => {
    const columns = rows.filter((row) => row.table === table);
    const values = columns.map(({ column, type }) => {
      if (column === "position") return "nextval('skein.event_position')";
      if (column === "data") return BODY;
      if (column === "due_at" || column === "owner" || column === "leased_until") return "null";
      if (ids.has(column)) return `(c.head || r.${column}_digits || c.tail)::uuid`;
      return type === "timestamp with time zone"
        ? `to_timestamp(c.ms / 1000.0) + (r.${column} - c.created_at)`
        : `r.${column}`;
    });
    const own = table === "sessions" ? "r.id" : "r.session_id";
    const found = columns.filter(({ column }) => ids.has(column)).map(({ column }) => column);
    const digits = found.map(
      (column) =>
        `(select f.digits from skein.fill_ids f where f.session_id = ${own} and f.id = r.${column}) as ${column}_digits`,
    );
    const source = table === "log_events" ? "skein.fill_events" : `skein.fill_${table}`;
    return `with r as materialized (select r.*, ${digits.join(", ")} from ${source} r)
      insert into skein.${table} (${columns.map(({ column }) => `"${column}"`).join(", ")})
      select ${values.join(", ")} from ${copied} join r on ${own} = c.session_id`;
  });
}

/** An SQL expression that replaces the ids in a body by the ids of the copy. */
const BODY = `(${Array.from({ length: IDS_PER_BODY }, (_, at) => at + 1).reduce(
  (body, n) => `replace(${body}, coalesce(r.ids[${n}], '\\'), coalesce(c.head || r.digits[${n}] || c.tail, '\\'))`,
  "r.data::text",
)})::json`;
