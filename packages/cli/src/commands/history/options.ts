import type { LibraryConfig } from "@skein/history";
import { resolve } from "node:path";
import type { Values } from "../../terminal/command.ts";
import { UsageError } from "../../terminal/exit-codes.ts";
import { wholeNumber } from "../../terminal/option-kinds.ts";
import {
  CACHE_OPTION,
  JSON_OPTION,
  LIMIT_OPTION,
  PAGER_OPTION,
  ROOT_OPTION,
  SOURCE_OPTION,
  SPAN_OPTIONS,
} from "../../terminal/shared-options.ts";

/** Options of most history commands. Each command lists its options by name. */
export const COMMON_OPTIONS = {
  root: ROOT_OPTION,
  source: SOURCE_OPTION,
  project: { takes: "PATH", about: "Only sessions of this project" },
  ...SPAN_OPTIONS,
  limit: LIMIT_OPTION,
  offset: { takes: "N", kind: wholeNumber(), about: "Skip this many results (default 0)" },
  json: JSON_OPTION,
  archive: { isOn: true, about: "Leave out sessions that only the archive still has" },
  cache: CACHE_OPTION,
  pager: PAGER_OPTION,
} as const;

/**
 * The options that select sessions, for commands that take one session. An index is a position among the selected
 * sessions.
 */
export const SESSION_OPTIONS = ["root", "project", "since", "until", "json", "cache"] as const;

export function libraryConfig(values: Partial<Values<typeof COMMON_OPTIONS>>, signal: AbortSignal): LibraryConfig {
  const { root, project, since, until, limit: most, offset, cache } = values;
  return {
    signal,
    ...(root === undefined ? {} : { dataPath: root }),
    ...(project === undefined ? {} : { workspace: absolute(project) }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(most === undefined ? {} : { limit: most }),
    ...(offset === undefined ? {} : { offset }),
    ...(cache === false && { cacheFolder: null }),
  };
}

/** Resolves `.` and other relative paths against the current folder. A Windows path is absolute on every system. */
export function absolute(path: string): string {
  return /^[A-Za-z]:[\\/]|^\\\\/.test(path) ? path : resolve(path);
}

/** A session on the command line: an index of the list, an id, or the beginning of an id. */
export function sessionWord(word: string | undefined): number | string {
  if (word === undefined || word === "")
    throw new UsageError("Which session? Give its index or id as `skein history list` shows it.");
  return /^\d{1,6}$/.test(word) ? Number(word) : word;
}
