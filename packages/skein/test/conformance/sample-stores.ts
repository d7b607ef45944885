import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { type Event, createIds } from "@skein/protocol";
import pg from "pg";
import { inject } from "vitest";
import { createDatabase } from "../../../../scripts/postgres.ts";
import type { DocumentKind } from "./line.ts";
import { type Played, playSessions } from "./played-sessions.ts";

type Row = Record<string, unknown>;

/** Three stores with the specified tables or documents. All three have the same example sessions. */
export interface SampleStores {
  /** Runs SQL on PostgreSQL; {agent} and {run} stand for the example session and its first run. */
  query(sql: string): Promise<readonly Row[]>;
  /** Runs SQL in a transaction that is rolled back. Returns the SQLSTATE if PostgreSQL rejects it. */
  refusal(sql: string): Promise<string | undefined>;
  explain(sql: string): Promise<string>;
  /** The columns of a view in sqlite. */
  sqliteColumns(view: string): readonly string[];
  /** Paths below the filesystem store's folder, with {agent} and {run} in place of the ids. */
  readonly files: readonly string[];
  document(kind: DocumentKind): Promise<readonly Row[]>;
  actionLines(): Promise<readonly Row[]>;
  readonly events: readonly Event[];
  close(): Promise<void>;
}

export async function openSampleStores(): Promise<SampleStores> {
  const folder = await mkdtemp(join(tmpdir(), "skein-conformance-"));
  const server = inject("postgres");
  const database = await createDatabase(server.url, { template: server.template });
  const client = new pg.Client(database.url);
  await client.connect();

  const postgres = await createPostgresStore({ url: database.url });
  const played = await playSessions(postgres, createIds());
  const events = await postgres.read(played.sessionId);
  await postgres.close();

  const sqliteFile = join(folder, "skein.db");
  const sqlite = await createSqliteStore({ file: sqliteFile });
  await playSessions(sqlite, createIds());
  await sqlite.close();
  const sqliteReader = new DatabaseSync(sqliteFile, { readOnly: true });

  const documents = join(folder, "files");
  const filesystem = await createFilesystemStore({ folder: documents });
  const inFiles = await playSessions(filesystem, createIds());
  await filesystem.settled();
  await filesystem.close();
  const paths = (await readdir(documents, { recursive: true })).map((path) => path.replaceAll("\\", "/"));

  const filled = (sql: string): string =>
    sql.replaceAll("{agent}", `'${played.sessionId}'`).replaceAll("{run}", `'${played.runId}'`);

  async function query(sql: string): Promise<readonly Row[]> {
    return (await client.query<Row>(filled(sql))).rows;
  }

  async function json(pattern: RegExp): Promise<readonly Row[]> {
    const matching = paths.filter((path) => pattern.test(path));
    const texts = await Promise.all(matching.map((path) => readFile(join(documents, path), "utf8")));
    return texts.flatMap((text, index) =>
      matching[index]?.endsWith("l")
        ? text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as Row)
        : [JSON.parse(text) as Row],
    );
  }

  return {
    query,
    async refusal(sql) {
      await client.query("begin");
      try {
        await client.query(filled(sql));
        return undefined;
      } catch (error) {
        return (error as { code?: string }).code;
      } finally {
        await client.query("rollback");
      }
    },
    async explain(sql) {
      await client.query("begin");
      // With few sessions, the planner would read whole tables. This setting shows whether the planner could use an
      // index.
      await client.query("set local enable_seqscan = off");
      const rows = await query(`explain ${sql}`);
      await client.query("rollback");
      return rows.map((row) => String(row["QUERY PLAN"])).join("\n");
    },
    sqliteColumns(view) {
      const name = view.replace(/^agent\./, "").replace(".", "_");
      return sqliteReader
        .prepare(`select name from pragma_table_info('${name}')`)
        .all()
        .map((row) => String(row["name"]));
    },
    files: paths.map((path) => withNames(path, inFiles)),
    document: (kind) => json(kind === "index.json" ? /\/index\.json$/ : new RegExp(`^${kind}/.*(?<!index)\\.json$`)),
    actionLines: () => json(/^agent_runs\/.*\.jsonl$/),
    events,
    async close() {
      sqliteReader.close();
      await client.end();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function withNames(path: string, { sessionId, runId }: Played): string {
  return path.replaceAll(sessionId, "{agent}").replaceAll(runId, "{run}");
}
