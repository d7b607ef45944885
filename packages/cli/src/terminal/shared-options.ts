import type { Option } from "./command.ts";
import { sourceNames } from "@skein/history/sources";
import { type Kind, oneOf, time, wholeNumber } from "./option-kinds.ts";

/** Options of several commands. A test checks that a name or a letter has the same meaning in every command. */

export const JSON_OPTION = { about: "JSON instead of text" } as const satisfies Option;

/** How many results a list shows by default. */
export const LIMIT = 50;

const limit: Kind<number> = {
  what: "a whole number, or all",
  read: (text) => (text === "all" ? Number.POSITIVE_INFINITY : wholeNumber().read(text)),
};

export const LIMIT_OPTION = {
  takes: "N",
  kind: limit,
  about: `At most N results (default ${LIMIT}); "all" shows all results`,
} as const satisfies Option;

/** A span of time. */
export const SPAN_OPTIONS = {
  since: {
    takes: "TIME",
    kind: time("start"),
    about: "Only from this time on: 2026-11-01, 2026-11-01T10:00, 7d, today, yesterday",
  },
  until: { takes: "TIME", kind: time("end"), about: "Only before this time, or until the end of this date" },
} as const satisfies Record<string, Option>;

/** Where a result is written. */
export const OUTPUT_OPTIONS = {
  output: { takes: "PATH", short: "o", about: "Write to this file instead of stdout; only you can read the file" },
  force: { about: "Replace a file that exists" },
} as const satisfies Record<string, Option>;

export const YES_OPTION = { short: "y", about: "Do it without asking" } as const satisfies Option;

export const STORE_OPTION = {
  store: { takes: "URL", about: "sqlite:FILE, file:FOLDER, postgres://… (default: sqlite in ~/.skein)" },
} as const satisfies Record<string, Option>;

/** Where sessions are: in a store, or on a server. */
export const PLACE_OPTIONS = {
  ...STORE_OPTION,
  server: {
    takes: "URL",
    about:
      "Use the sessions of this server instead of a store (key: SKEIN_API_KEY, or the key of a server on this machine)",
  },
} as const satisfies Record<string, Option>;

export const ROOT_OPTION = {
  takes: "FOLDER",
  several: true,
  about:
    "A data directory of Claude Code or of another agent (default: the usual folder of each agent); may be given several times",
} as const satisfies Option;

export const SOURCE_OPTION = {
  takes: "AGENT",
  several: true,
  kind: oneOf(...sourceNames),
  about: `Only sessions of this agent: ${sourceNames.join(", ")}; may be given several times`,
} as const satisfies Option;

export const CACHE_OPTION = {
  isOn: true,
  about: "Read Claude Code's files directly, and write nothing to Skein's cache folder",
} as const satisfies Option;

export const PAGER_OPTION = {
  isOn: true,
  about: "Do not show long output page by page on a terminal",
} as const satisfies Option;
