import {
  type LibraryConfig,
  buildIndex,
  createTitles,
  existingRoots,
  isDataNotFoundError,
  withArchive,
  withSources,
} from "@skein/history";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type TenantSql, createTenantSql } from "@skein/sql/sandbox";
import type { Config } from "skein/config";
import { createHistoryServer } from "../mcp/serve-history.ts";
import { openStore } from "skein/stores";
import { defineCommand } from "../terminal/command.ts";
import { toCommandError } from "./history/errors.ts";
import type { SourceNames } from "./history/with-agents.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { onStop } from "../terminal/interrupts.ts";
import { ROOT_OPTION, SOURCE_OPTION } from "../terminal/shared-options.ts";

/** The time in milliseconds after which the index is built if no tool call was answered. */
const QUIET_MS = 10_000;

/** `skein mcp`: lets Claude Code, or any MCP client, look into past sessions over standard input and output. */
export const mcp = defineCommand({
  name: "mcp",
  summary:
    "Let an MCP client search, read and query (SQL) past sessions of Claude Code and other agents, over standard input and output.",
  options: {
    root: ROOT_OPTION,
    source: SOURCE_OPTION,
  },
  examples: [
    [
      "claude mcp add history -- npx -p @skein/cli skein mcp",
      "Let Claude Code search past sessions (in a clone: npx --prefix CLONE skein mcp)",
    ],
    ["skein mcp --root /backup/claude", "Serve another data directory"],
    ["skein mcp --source codex", "Only sessions of one agent"],
  ],
  notes:
    "Tools: history_sessions, history_search, history_outline, history_read, sql. They only read, and their answers have a limited length. SQL needs a sandbox (bubblewrap).",
  async run({ values: { root, source }, config }) {
    // A missing folder is reported before the protocol begins. Later it would look like a folder without sessions.
    try {
      if (root !== undefined) await withSources({ sources: source, dataPath: root, lines: "as-needed" });
    } catch (error) {
      throw toCommandError(error);
    }
    const archiveFolder = join(config.dataDir, "archive");
    const titles = createTitles();
    const library = async () => await withArchive({ ...(await agents(root, source)), archiveFolder, titles });
    // The server runs until the client closes standard input, or until a signal.
    const ended = new Promise<void>((resolve) => {
      process.stdin.once("end", resolve);
      process.stdin.once("close", resolve);
      onStop(resolve);
    });
    let opened: Promise<OpenedSql> | undefined;
    const sql = async (): Promise<TenantSql> => {
      opened ??= openSql(root, source, config);
      // After a failure, the next call tries again, because the data may exist then.
      opened.catch(() => (opened = undefined));
      return (await opened).sql;
    };
    const { promise: answered, resolve: onAnswer } = Promise.withResolvers<void>();
    const handle = serveStdio(() => createHistoryServer({ version: version(), config: library, sql, onAnswer }));
    // The index is built in the background, because building takes seconds: after the first answer to a tool call, or
    // after `QUIET_MS` if there was none. Without the index, answers are the same but slower.
    const stop = new AbortController();
    const indexed = Promise.race([answered, delay(QUIET_MS, undefined, { ref: false, signal: stop.signal })])
      .then(async () => buildIndex({ ...(await library()), signal: stop.signal }))
      .catch(() => undefined);
    await ended;
    stop.abort();
    await indexed;
    await handle.close();
    await (await opened)?.close();
    return EXIT.completed;
  },
});

interface OpenedSql {
  readonly sql: TenantSql;
  close(): Promise<void>;
}

/** Opens SQL over the data of coding agents and the store. Leaves out a missing store instead of creating it. */
async function openSql(
  roots: readonly string[] | undefined,
  sources: SourceNames,
  { dataDir, cacheDir, storeUrl }: Config,
): Promise<OpenedSql> {
  const file = join(dataDir, "skein.db");
  const url = storeUrl ?? (existsSync(file) ? `sqlite:${file}` : undefined);
  const store = url === undefined ? undefined : await openStore(url);
  const { dataPath } = await agents(roots, sources);
  const found = foundRoots(dataPath);
  const sql = createTenantSql({
    store,
    folder: join(dataDir, "sql"),
    ...(found.length > 0 && { history: { roots: found, cacheFolder: cacheDir } }),
  });
  return {
    sql,
    async close() {
      await sql.close();
      await store?.close();
    },
  };
}

/** Configures the history library for all agents on this machine, or for the given folders or agents. */
async function agents(roots: readonly string[] | undefined, sources: SourceNames): Promise<LibraryConfig> {
  try {
    return (await withSources({ sources, ...(roots !== undefined && { dataPath: roots }) })).config;
  } catch (error) {
    if (roots === undefined && sources === undefined && error instanceof Error && isDataNotFoundError(error)) return {};
    throw error;
  }
}

/**
 * Returns the data directories to read. Ignores a missing default directory, because a user without Claude Code still
 * has sessions of Skein. A directory from the options must exist.
 */
function foundRoots(dataPath: LibraryConfig["dataPath"]): readonly string[] {
  try {
    return existingRoots(dataPath === undefined ? {} : { dataPath });
  } catch (error) {
    if (dataPath === undefined && error instanceof Error && isDataNotFoundError(error)) return [];
    throw error;
  }
}

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
