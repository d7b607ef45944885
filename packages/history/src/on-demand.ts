/**
 * Functions that load their modules when they are called. Without the modules of search, export, migrate and the
 * archive, a command such as `skein history usage` starts 20 ms earlier.
 */
import type { archive as Archive } from "./archive/archive.ts";
import { existsSync } from "node:fs";
import type { restoreSession as RestoreSession } from "./archive/restore.ts";
import type { withArchive as WithArchive } from "./archive/unpack-archive.ts";
import type { withCarried as WithCarried } from "./carry/carry-session.ts";
import type * as Export from "./export/export.ts";
import type * as Migrate from "./migrate/migrate.ts";
import type * as Undo from "./migrate/undo.ts";
import type { buildIndex as BuildIndex } from "./search/build-index.ts";
import type * as Search from "./search/search.ts";

/** Copies every transcript into the archive. */
export const archive: typeof Archive = async (...given) => (await import("./archive/archive.ts")).archive(...given);

/**
 * Adds the archived sessions of the configured data directories to the configuration. Without an archive, the
 * configuration stays as it is. If a session still exists outside the archive, it is not added.
 */
export const withArchive: typeof WithArchive = async (options) => {
  const { archiveFolder, onProgress: _progress, ...config } = options ?? {};
  if (archiveFolder !== undefined && !existsSync(archiveFolder)) return config;
  return await (await import("./archive/unpack-archive.ts")).withArchive(options);
};

/** Copies a session from the archive back into Claude Code's data directory. */
export const restoreSession: typeof RestoreSession = async (...given) =>
  (await import("./archive/restore.ts")).restoreSession(...given);

/** Converts a session into Claude Code's format and runs `work` on the result. */
export const withCarried: typeof WithCarried = async (...given) =>
  await (await import("./carry/carry-session.ts")).withCarried(...given);

/** Reads every transcript once, so that later searches, lists and sums are fast. */
export const buildIndex: typeof BuildIndex = async (...given) =>
  await (await import("./search/build-index.ts")).buildIndex(...given);

/**
 * Searches all sessions. Matches in prompts and answers come before tool output, whole words before parts, new before
 * old. The total is exact up to 500. With more matches, only lines that may be on the page are read.
 */
export const searchSessions: typeof Search.searchSessions = async (...given) =>
  await (await import("./search/search.ts")).searchSessions(...given);

/** Searches one session and its subagents. Matches are in the order of the files. */
export const searchInSession: typeof Search.searchInSession = async (...given) =>
  await (await import("./search/search.ts")).searchInSession(...given);

/** Moves or copies one or more sessions to another project. */
export const migrateSession: typeof Migrate.migrateSession = async (...given) =>
  await (await import("./migrate/migrate.ts")).migrateSession(...given);

/** Moves or copies all sessions of a project to another project. */
export const migrateWorkspace: typeof Migrate.migrateWorkspace = async (...given) =>
  await (await import("./migrate/migrate.ts")).migrateWorkspace(...given);

/** Lists every migration that has a journal, newest first. */
export const listMigrations = async (options?: Undo.UndoOptions): Promise<readonly Undo.MigrationSummary[]> =>
  (await import("./migrate/undo.ts")).listMigrations(options);

/**
 * Undoes a migration. Without an id, undoes the last migration. Copies are removed, and moved files are restored byte
 * for byte. If a file has changed since the migration, it stays in place, and its session is reported as an error.
 */
export const undoMigration: typeof Undo.undoMigration = async (...given) =>
  await (await import("./migrate/undo.ts")).undoMigration(...given);

const exports = async (): Promise<typeof Export> => await import("./export/export.ts");

/** Returns the lines of a session. Without `redact`, they are byte for byte the lines of its file. */
export const exportSessionLines: typeof Export.exportSessionLines = async (...given) =>
  await (await exports()).exportSessionLines(...given);

export const exportSession: typeof Export.exportSession = async (...given) =>
  await (await exports()).exportSession(...given);

/** Exports the sessions one after the other, so that only one is in memory. */
export async function* exportAllSessions(
  ...given: Parameters<typeof Export.exportAllSessions>
): ReturnType<typeof Export.exportAllSessions> {
  yield* (await exports()).exportAllSessions(...given);
}

export const exportSessionToJson: typeof Export.exportSessionToJson = async (...given) =>
  await (await exports()).exportSessionToJson(...given);

export const exportSessionToMarkdown: typeof Export.exportSessionToMarkdown = async (...given) =>
  await (await exports()).exportSessionToMarkdown(...given);

export const exportSessionToHtml: typeof Export.exportSessionToHtml = async (...given) =>
  await (await exports()).exportSessionToHtml(...given);

/** Exports all sessions as one JSON array. For many sessions, use `exportAllSessions`, which needs less memory. */
export const exportAllSessionsToJson: typeof Export.exportAllSessionsToJson = async (...given) =>
  await (await exports()).exportAllSessionsToJson(...given);

export const exportAllSessionsToMarkdown: typeof Export.exportAllSessionsToMarkdown = async (...given) =>
  await (await exports()).exportAllSessionsToMarkdown(...given);

export const exportAllSessionsToHtml: typeof Export.exportAllSessionsToHtml = async (...given) =>
  await (await exports()).exportAllSessionsToHtml(...given);
