import type { LibraryConfig } from "@skein/history";
import { resolve } from "node:path";
import { UsageError } from "./exit.ts";
import { parseTime } from "./times.ts";

/** What every history command takes. */
export const commonOptions = {
  root: {
    type: "string",
    multiple: true,
    hint: "DIR",
    about: "A Claude Code data directory; may be given several times",
  },
  project: { type: "string", hint: "PATH", about: "Only sessions of this project" },
  since: {
    type: "string",
    hint: "TIME",
    about: "Only from then on: 2026-11-01, 2026-11-01T10:00, 7d, today, yesterday",
  },
  until: { type: "string", hint: "TIME", about: "Only before then; a date includes its day" },
  limit: { type: "string", hint: "N", about: "At most so many results (50); 0 shows none, all shows every one" },
  offset: { type: "string", hint: "N", about: "Skip so many results (0)" },
  json: { type: "boolean", about: "JSON instead of text" },
  archive: {
    type: "boolean",
    default: true,
    about: "Also read what only the archive has left (--no-archive leaves it out)",
  },
  index: { type: "boolean", default: true, about: "Keep an index in Skein's cache folder (--no-index works without)" },
  pager: { type: "boolean", default: true, about: "Show long output page by page on a terminal (--no-pager)" },
  help: { type: "boolean", short: "h", about: "This text" },
} as const;

export interface CommonValues {
  readonly root?: readonly string[] | undefined;
  readonly project?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly limit?: string | undefined;
  readonly offset?: string | undefined;
  readonly json?: boolean | undefined;
  readonly archive?: boolean | undefined;
  readonly index?: boolean | undefined;
  readonly pager?: boolean | undefined;
  readonly help?: boolean | undefined;
}

export function commonConfig(values: CommonValues): LibraryConfig {
  const { root, project, since, until, limit, offset, index } = values;
  return {
    ...(root === undefined ? {} : { dataPath: root }),
    ...(project === undefined ? {} : { workspace: absolute(project) }),
    ...(since === undefined ? {} : { since: timeOption("since", since, "start") }),
    ...(until === undefined ? {} : { until: timeOption("until", until, "end") }),
    ...(limit === undefined
      ? {}
      : { limit: limit === "all" ? Number.POSITIVE_INFINITY : numberOption("limit", limit) }),
    ...(offset === undefined ? {} : { offset: numberOption("offset", offset) }),
    ...(index === false ? { cacheFolder: null } : {}),
  };
}

/** `.` and other relative paths are relative to here; a path of Windows is one everywhere. */
export function absolute(path: string): string {
  return /^[A-Za-z]:[\\/]|^\\\\/.test(path) ? path : resolve(path);
}

export function numberOption(name: string, text: string): number {
  if (!/^\d{1,12}$/.test(text))
    throw new UsageError(`--${name} takes a whole number that is not negative, not "${text}".`);
  return Number(text);
}

function timeOption(name: string, text: string, edge: "start" | "end"): Date {
  const time = parseTime(text, edge);
  if (time) return time;
  throw new UsageError(`--${name} takes a time such as 2026-11-01, 2026-11-01T10:00, 7d or yesterday, not "${text}".`);
}

/** A session as it is given on the command line: an index of the list, or an id or its beginning. */
export function sessionWord(word: string | undefined): number | string {
  if (word === undefined || word === "")
    throw new UsageError("Which session? Give its index or id as `skein history list` shows it.");
  return /^\d{1,6}$/.test(word) ? Number(word) : word;
}

export function oneOf<const Name extends string>(option: string, value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (found !== undefined) return found;
  throw new UsageError(`--${option} takes ${names.join(", ")}, not "${value}".`);
}
