import type { LibraryConfig } from "@skein/history";
import { resolve } from "node:path";
import type { Values } from "../../terminal/command.ts";
import { UsageError } from "../../terminal/exit-codes.ts";
import { type Kind, time, wholeNumber } from "../../terminal/kinds.ts";

const limit: Kind<number> = {
  what: "a whole number, or all",
  read: (text) => (text === "all" ? Number.POSITIVE_INFINITY : wholeNumber().read(text)),
};

/** What every history command takes. */
export const COMMON_OPTIONS = {
  root: { takes: "DIR", several: true, about: "A Claude Code data directory; may be given several times" },
  project: { takes: "PATH", about: "Only sessions of this project" },
  since: {
    takes: "TIME",
    kind: time("start"),
    about: "Only from then on: 2026-11-01, 2026-11-01T10:00, 7d, today, yesterday",
  },
  until: { takes: "TIME", kind: time("end"), about: "Only before then; a date includes its day" },
  limit: { takes: "N", kind: limit, about: "At most so many results (50); 0 shows none, all shows every one" },
  offset: { takes: "N", kind: wholeNumber(), about: "Skip so many results (0)" },
  json: { about: "JSON instead of text" },
  archive: { isOn: true, about: "Leave out what only the archive has left" },
  index: { isOn: true, about: "Keep no index in Skein's cache folder" },
  pager: { isOn: true, about: "Do not show long output page by page on a terminal" },
} as const;

export function libraryConfig(values: Values<typeof COMMON_OPTIONS>, signal: AbortSignal): LibraryConfig {
  const { root, project, since, until, limit: most, offset, index } = values;
  return {
    signal,
    ...(root === undefined ? {} : { dataPath: root }),
    ...(project === undefined ? {} : { workspace: absolute(project) }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(most === undefined ? {} : { limit: most }),
    ...(offset === undefined ? {} : { offset }),
    ...(index ? {} : { cacheFolder: null }),
  };
}

/** `.` and other relative paths are relative to here; a path of Windows is one everywhere. */
export function absolute(path: string): string {
  return /^[A-Za-z]:[\\/]|^\\\\/.test(path) ? path : resolve(path);
}

/** A session as it is given on the command line: an index of the list, or an id or its beginning. */
export function sessionWord(word: string | undefined): number | string {
  if (word === undefined || word === "")
    throw new UsageError("Which session? Give its index or id as `skein history list` shows it.");
  return /^\d{1,6}$/.test(word) ? Number(word) : word;
}
