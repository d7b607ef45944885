/**
 * Computes the rows of `read_conversations` and the other table functions of the `agent_data` extension. Columns and
 * types are the extension's.
 */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import {
  type DataFile,
  type LibraryConfig,
  type SourceName,
  type WithSources,
  discover,
  isDataNotFoundError,
  isRecognised,
  isSourceName,
  listPlans,
  listTodos,
  readHistory,
  readLines,
  readStats,
  recogniseSource,
  sourceNames,
  withSources,
} from "@skein/history";
import { sourceOfRoot } from "@skein/history/discover";
import { appendRows } from "../database/load-rows.ts";
import type { ReadCall, ReadFunction } from "../plan/read-calls.ts";

type Row = Record<string, unknown>;

const texts = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, "VARCHAR"]));
const numbers = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, "BIGINT"]));

const COLUMNS: Readonly<Record<ReadFunction, Readonly<Record<string, string>>>> = {
  read_conversations: {
    ...texts("source", "session_id", "project_path", "project_dir", "file_name"),
    is_agent: "BOOLEAN",
    ...numbers("line_number"),
    ...texts("message_type", "uuid", "parent_uuid", "timestamp", "message_role", "message_content", "model"),
    ...texts("tool_name", "tool_use_id", "tool_input"),
    ...numbers("input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens", "reasoning_tokens"),
    ...texts("slug", "git_branch", "cwd", "version", "stop_reason", "reasoning_effort", "repository"),
  },
  read_plans: {
    ...texts("source", "session_id", "plan_name", "file_name", "file_path", "content"),
    ...numbers("file_size"),
  },
  read_todos: {
    ...texts("source", "session_id", "agent_id", "file_name"),
    ...numbers("item_index"),
    ...texts("content", "status", "active_form"),
  },
  read_history: {
    ...texts("source"),
    ...numbers("line_number", "timestamp_ms"),
    ...texts("project", "session_id", "display", "pasted_contents"),
  },
  read_stats: { ...texts("source", "date"), ...numbers("message_count", "session_count", "tool_call_count") },
};

/** The name of Claude Code in `agent_data`. */
const CLAUDE = "claude";

interface ReadDeps {
  /** Where Claude Code's files are. */
  readonly library: LibraryConfig;
  /** A folder for temporary files, which the caller removes. */
  readonly folder: string;
  /** Receives warnings that no row of an answer contains. */
  warn(text: string): void;
}

/**
 * Makes the table of one call. The table is empty if the path does not exist. `warn` receives the problems that no row
 * contains.
 */
export async function loadReadFunction(
  connection: DuckDBConnection,
  call: ReadCall,
  { library: defaults, folder, warn }: ReadDeps,
): Promise<void> {
  const { name, path, table } = call;
  const columns = COLUMNS[name];
  const list = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  await connection.run(`CREATE OR REPLACE TABLE ${table} (${list.join(", ")})`);
  const given = path === undefined ? undefined : expanded(path);
  if (given !== undefined && !statSync(given, { throwIfNoEntry: false })) {
    warn(`There is nothing at ${given}, so ${name} has no rows.`);
    return;
  }
  const source = sourceOf(call, given, warn);
  try {
    const { library, problems } = await libraryOf(source, given, {
      ...defaults,
      cacheFolder: defaults.cacheFolder ?? folder,
    });
    for (const { path: at, message } of problems) warn(`${source}: ${at}: ${message}`);
    const named = source === "claude-code" ? CLAUDE : source;
    for await (const rows of rowsOf(name, library))
      await appendRows(
        connection,
        table,
        columns,
        rows.map((row) => ({ source: named, ...row })),
      );
  } catch (error) {
    if (!isDataNotFoundError(error)) throw error;
  }
}

const KNOWN = `Sources: ${CLAUDE}, ${sourceNames.join(", ")}`;

/** Returns the named source. Without a known name, returns the source whose files look like the files at the path. */
function sourceOf({ source: name }: ReadCall, path: string | undefined, warn: (text: string) => void): SourceName {
  const known = name?.toLowerCase() === CLAUDE ? "claude-code" : (name?.toLowerCase() ?? "");
  if (isSourceName(known)) return known;
  const found = path === undefined ? "claude-code" : recogniseSource(path);
  if (name !== undefined && name !== "")
    warn(
      `There is no source '${name}'. The path looks like data of ${found}, so it was read as data of ${found}. ${KNOWN}`,
    );
  else if (path !== undefined && !isRecognised(path))
    warn(`${path} does not look like the data of any coding agent, so it was read as data of ${found}. ${KNOWN}`);
  return found;
}

async function libraryOf(
  source: SourceName,
  path: string | undefined,
  defaults: LibraryConfig,
): Promise<{ readonly library: LibraryConfig; readonly problems: WithSources["problems"] }> {
  if (source === "claude-code")
    return { library: path === undefined ? ownOf(defaults) : { dataPath: path, cacheFolder: null }, problems: [] };
  const { dataPath: _roots, ...rest } = defaults;
  const { config, problems } = await withSources({
    ...rest,
    sources: [source],
    ...(path !== undefined && { dataPath: path }),
  });
  return { library: config, problems };
}

/** Returns the library without the folders of other coding agents, which a query over all coding agents adds. */
function ownOf(library: LibraryConfig): LibraryConfig {
  if (library.dataPath === undefined || typeof library.dataPath === "string") return library;
  const own = library.dataPath.filter((root) => sourceOfRoot(root) === "claude-code");
  return own.length === library.dataPath.length ? library : { ...library, dataPath: own };
}

function expanded(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : resolve(path);
}

async function* rowsOf(name: ReadFunction, library: LibraryConfig): AsyncGenerator<readonly Row[]> {
  switch (name) {
    case "read_conversations":
      // The files are read one at a time, so that a large directory is never held in memory.
      for (const file of discover(library).files) yield conversation(file);
      return;
    case "read_plans":
      yield inOrder(await listPlans(library), "path").map((plan) => ({
        plan_name: plan.name,
        file_name: basename(plan.path),
        file_path: plan.path,
        content: plan.content,
        file_size: plan.sizeBytes,
      }));
      return;
    case "read_todos":
      yield inOrder(await listTodos(library), "path").flatMap(({ sessionId, agentId, path, items, problem }) => {
        const list = { session_id: sessionId, agent_id: agentId, file_name: basename(path) };
        if (problem !== null)
          return [{ ...list, item_index: -1, content: parseError(problem), status: "_parse_error" }];
        return items.map(({ content, status, activeForm }, at) => ({
          ...list,
          item_index: at,
          content,
          status,
          active_form: activeForm,
        }));
      });
      return;
    case "read_history": {
      const { data, damage } = await readHistory({ ...library, limit: Number.POSITIVE_INFINITY });
      const entries = data.map((item) => ({
        line_number: item.line,
        timestamp_ms: Number(item.timestamp),
        project: item.project,
        session_id: item.sessionId,
        display: item.display,
        pasted_contents: JSON.stringify(item.pastedContents),
      }));
      const broken = damage.map(({ line, message }) => ({ line_number: line, display: parseError(message) }));
      yield inOrder([...entries, ...broken], "line_number");
      return;
    }
    case "read_stats":
      yield (await readStats(library)).flatMap(({ stats }) =>
        stats.dailyActivity.map(({ date, messageCount, sessionCount, toolCallCount }) => ({
          date,
          message_count: messageCount,
          session_count: sessionCount,
          tool_call_count: toolCallCount,
        })),
      );
  }
}

function conversation(file: DataFile): readonly Row[] {
  const rows: Row[] = [];
  let projectPath: unknown;
  const place = { project_dir: file.encodedPath, file_name: basename(file.path), is_agent: file.kind === "agent" };
  readLines(file.path, {
    line: ({ line, value }) => {
      projectPath ??= value["cwd"];
      // The session id in the line takes precedence, because a forked or resumed file contains lines of other sessions.
      const session_id = text(value["sessionId"]) ?? file.sessionId;
      rows.push({ ...place, line_number: line, session_id, ...fieldsOf(value) });
    },
    damage: ({ line, kind, message }) => {
      // Lines with these kinds of damage can still be read.
      if (kind === "glued" || kind === "invalid-utf8" || kind === "nul-bytes") return;
      rows.push({
        ...place,
        line_number: line,
        session_id: file.sessionId,
        message_type: "_parse_error",
        message_content: parseError(message),
      });
    },
  });
  return rows.map((row) => ({ ...row, project_path: projectPath ?? file.encodedPath }));
}

function fieldsOf(value: Readonly<Record<string, unknown>>): Row {
  const message = record(value["message"]);
  const usage = record(message["usage"]);
  const content = message["content"] ?? value["content"] ?? value["summary"];
  const blocks = Array.isArray(content) ? content.map(record) : [];
  const tool = blocks.find((block) => block["type"] === "tool_use");
  const type = text(value["type"]);
  const said = blocks.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
  return {
    message_type: type,
    uuid: text(value["uuid"]),
    parent_uuid: text(value["parentUuid"]),
    timestamp: text(value["timestamp"]),
    message_role: text(message["role"]) ?? (type === "user" || type === "assistant" ? type : null),
    message_content: typeof content === "string" ? content : said,
    model: text(message["model"]),
    tool_name: text(tool?.["name"]),
    tool_use_id: text(tool?.["id"]),
    tool_input: tool === undefined ? null : JSON.stringify(tool["input"] ?? null),
    input_tokens: count(usage["input_tokens"]),
    output_tokens: count(usage["output_tokens"]),
    cache_creation_tokens: count(usage["cache_creation_input_tokens"]),
    cache_read_tokens: count(usage["cache_read_input_tokens"]),
    reasoning_tokens: count(record(usage["output_tokens_details"])["reasoning_tokens"]),
    slug: text(value["slug"]),
    git_branch: text(value["gitBranch"]),
    cwd: text(value["cwd"]),
    version: text(value["version"]),
    stop_reason: text(message["stop_reason"]),
    reasoning_effort: text(value["effort"]),
  };
}

/** Returns the error that `agent_data` reports for an unreadable line. */
const parseError = (message: string): string => `Parse error: ${message}`;

/** Sorts the items by one of their fields, because the history library returns the newest item first. */
function inOrder<Item>(items: readonly Item[], key: keyof Item): readonly Item[] {
  return items.toSorted((one, other) => (one[key] < other[key] ? -1 : one[key] > other[key] ? 1 : 0));
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
const count = (value: unknown): number | null => (typeof value === "number" ? Math.trunc(value) : null);
