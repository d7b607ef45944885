import {
  createRedactor,
  exportAllSessions,
  exportSession,
  exportSessionLines,
  type ExportFormat,
  type ExportOptions,
  type Hidden,
} from "@skein/history";

import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { makeFolder } from "skein/stores";
import { historyCommand } from "./command.ts";
import { CommandError, EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { oneOf } from "../../terminal/option-kinds.ts";
import { OUTPUT_OPTIONS } from "../../terminal/shared-options.ts";
import { SESSION_OPTIONS, sessionWord } from "./options.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { styledText } from "../../terminal/styled.ts";
import { visible } from "../../terminal/visible-text.ts";
import { count, counted } from "../../terminal/counts.ts";
import { size } from "../../terminal/times.ts";
import { table } from "../../terminal/table.ts";
import { createPrivateFile } from "../../terminal/private-file.ts";
import { noteSameId } from "./same-id.ts";
import { refuseDataFolder } from "./refuse-data-folder.ts";

export const exportCommand = historyCommand({
  name: "history export",
  summary: "Write sessions as Markdown, self-contained HTML, JSON or JSON lines",
  lines: "as-needed",
  shares: [...SESSION_OPTIONS, "source", "archive"],
  words: "[SESSION…]",
  options: {
    format: {
      takes: "FORMAT",
      short: "F",
      kind: oneOf("json", "jsonl", "markdown", "md", "html"),
      about: "markdown (or md), html, json, or jsonl: the lines as Claude Code wrote them (default: markdown)",
    },
    ...OUTPUT_OPTIONS,
    output: { ...OUTPUT_OPTIONS.output, about: "A file for one session, a folder for several (default: stdout)" },
    all: {
      short: "a",
      about: "Every session (or those that --project, --since and --until select); needs --output FOLDER",
    },
    redact: { about: "Remove secrets, e-mail addresses, the name of this user and home directories" },
    preview: { about: "With --redact: only show what would be removed, and write nothing" },
    subagents: { about: "Also the subagents' conversations" },
    "active-only": { about: "Leave out turns that were compacted or rewound, and side conversations" },
  },
  examples: [
    ["skein history export 0 > session.md", "The newest session as Markdown"],
    ["skein history export 3f2a --format html --redact -o page.html", "A page that is safer to share"],
    ["skein history export 3f2a --redact --preview", "What --redact would remove"],
    ["skein history export --all --format json -o backup", "Every session, a file each"],
  ],
  async run({ screen, values, words, library }) {
    const { format: given = values.json ? "json" : "markdown" } = values;
    const format = given === "md" ? "markdown" : given;
    const options: ExportOptions = {
      ...library,
      includeAgents: values.subagents,
      activeOnly: values["active-only"],
      ...(values.redact ? { redact: redactorOfThisMachine() } : {}),
    };
    if (values.all && words.length > 0)
      throw new UsageError("--all exports every session: leave out the ids, or --all.");
    if (!values.all && words.length === 0) throw new UsageError("Which session? Give indexes or ids, or --all.");
    if (values.preview) {
      if (!values.redact) throw new UsageError("--preview needs --redact: it lists what --redact removes.");
      return await preview(words, format, options, { screen, isJson: values.json, isAll: values.all });
    }
    if (format === "jsonl" && values["active-only"])
      throw new UsageError("--format jsonl writes every line: leave out --active-only.");
    if (values.output !== undefined) refuseDataFolder(values.output, library);
    for (const word of words) await noteSameId(sessionWord(word), library, screen);
    const { force } = values;
    if (values.all) {
      if (values.output === undefined) throw new UsageError("--all needs --output FOLDER.");
      return await exportAll({ screen, format, options, folder: values.output, force });
    }
    if (words.length > 1 && values.output === undefined) throw new UsageError("Several sessions need --output FOLDER.");
    if (words.length > 1) {
      makeFolder(resolve(values.output ?? ""));
      for (const word of words) {
        const path = join(values.output ?? "", `${word.replaceAll(/[^A-Za-z0-9_-]/g, "_")}.${extensions[format]}`);
        write(screen, path, await contentOf(word, format, options), force);
      }
      return EXIT.completed;
    }
    const content = await contentOf(words[0], format, options);
    if (values.output !== undefined) write(screen, values.output, content, force);
    else await screen.data(screen.isTerminal ? visible(Buffer.from(content).toString()) : content);
    return EXIT.completed;
  },
});

function write(screen: StyledScreen, path: string, content: string | Uint8Array, force: boolean): void {
  createPrivateFile(path, content, force);
  screen.note(styledText`Wrote ${path} (${size(Buffer.byteLength(content))})`);
}

/** Returns the exported content. For `jsonl`, returns the unchanged bytes, because they may not be valid UTF-8. */
async function contentOf(
  word: string | undefined,
  format: ExportFormat,
  options: ExportOptions,
): Promise<string | Uint8Array> {
  const session = sessionWord(word);
  return format === "jsonl"
    ? await exportSessionLines(session, options)
    : await exportSession(session, format, options);
}

const extensions: Readonly<Record<ExportFormat, string>> = {
  json: "json",
  jsonl: "jsonl",
  markdown: "md",
  html: "html",
};

/** Redacts secrets, e-mail addresses, the name of this user and home directories. */
export function redactorOfThisMachine(onHidden?: (hidden: Hidden) => void): (text: string) => string {
  return createRedactor({ home: homedir(), userName: userInfo().username, ...(onHidden && { onHidden }) });
}

interface PreviewOptions {
  readonly screen: StyledScreen;
  readonly isJson: boolean;
  readonly isAll: boolean;
}

/** Lists by kind what would be hidden. Secrets are shown with their first characters, so that people recognise them. */
async function preview(
  words: readonly string[],
  format: ExportFormat,
  options: ExportOptions,
  { screen, isJson, isAll }: PreviewOptions,
): Promise<number> {
  const found = new Map<string, { kind: string; shown: string; mark: string; count: number }>();
  const redact = redactorOfThisMachine(({ kind, text, mark }) => {
    const key = `${kind}\0${text}`;
    const known = found.get(key) ?? { kind, shown: recognisable(kind, text), mark, count: 0 };
    known.count += 1;
    found.set(key, known);
  });
  if (isAll) for await (const _ of exportAllSessions(format, { ...options, redact }));
  else for (const word of words) await contentOf(word, format, { ...options, redact });
  const rows = [...found.values()].sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : b.count - a.count));
  if (isJson) await screen.json(rows);
  else if (rows.length === 0) await screen.print(styledText`Nothing would be removed.`);
  else {
    const columns = [
      { title: "KIND" },
      { title: "TIMES", align: "right" as const },
      { title: "TEXT" },
      { title: "BECOMES" },
    ];
    const cells = rows.map(({ kind, count: times, shown, mark }) => [kind, count(times), shown, mark]);
    await screen.print(...table(columns, cells, screen.columns));
  }
  return EXIT.completed;
}

/** Returns a path, a name or an e-mail address in full, and only the first characters of a secret. */
function recognisable(kind: string, text: string): string {
  if (kind === "path" || kind === "name" || kind === "e-mail") return text;
  return `${text.slice(0, Math.min(6, Math.floor(text.length / 3)))}… (${text.length} characters)`;
}

interface All {
  readonly screen: StyledScreen;
  readonly format: ExportFormat;
  readonly options: ExportOptions;
  readonly folder: string;
  readonly force: boolean;
}

async function exportAll({ screen, format, options, folder, force }: All): Promise<number> {
  makeFolder(resolve(folder));
  let done = 0;
  let failed = 0;
  for await (const { fileName, content, bytes, sessionId } of exportAllSessions(format, options)) {
    try {
      createPrivateFile(join(folder, fileName), bytes ?? content, force);
      done += 1;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      failed += 1;
      screen.note(styledText`${sessionId}: ${error.message}`);
    }
    screen.progress(styledText`Exported ${counted(done, "session")}`);
  }
  screen.progress(undefined);
  screen.note(styledText`Wrote ${counted(done, "session")} to ${folder}`);
  return failed === 0 ? EXIT.completed : EXIT.failed;
}
