import { diffLines, getFileHistory, type FileHistory, type FileHistoryEntry, type FileVersion } from "@skein/history";
import { readFileSync } from "node:fs";
import { historyCommand } from "./command.ts";
import { EXIT, MissingError } from "../../terminal/exit-codes.ts";
import { type Kind, wholeNumber } from "../../terminal/option-kinds.ts";
import { SESSION_OPTIONS, sessionWord } from "./options.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Styled, styledText } from "../../terminal/styled.ts";
import { visible } from "../../terminal/visible-text.ts";
import { table } from "../../terminal/table.ts";
import { counted } from "../../terminal/counts.ts";
import { shortTime } from "../../terminal/times.ts";

const versions: Kind<readonly [from: number, to: number]> = {
  what: "two versions such as 1..2",
  read: (text) => {
    const [, from, to] = /^(\d{1,9})\.\.(\d{1,9})$/.exec(text) ?? [];
    return from === undefined || to === undefined ? undefined : [Number(from), Number(to)];
  },
};

export const files = historyCommand({
  name: "history files",
  summary: "The copies that Claude Code made of files before it edited them",
  shares: [...SESSION_OPTIONS, "archive", "pager"],
  words: "SESSION [PATH]",
  usesPager: true,
  options: {
    version: { takes: "N", kind: wholeNumber(), about: "Print the text of version N" },
    at: { takes: "MESSAGE", about: "Print the text as it was at this user message (a uuid)" },
    diff: { takes: "A..B", kind: versions, about: "What changed from version A to version B" },
  },
  examples: [
    ["skein history files 0", "Files that the newest session touched"],
    ["skein history files 0 src/app.ts", "The versions of one file"],
    ["skein history files 0 src/app.ts --version 1 > app.ts", "The text of the file before its first edit"],
    ["skein history files 0 src/app.ts --diff 1..2", "What changed from version 1 to version 2"],
  ],
  async run({ screen, values, words, library }) {
    const [session, path] = words;
    const history = await getFileHistory(sessionWord(session), library);
    if (path === undefined) return await listFiles(history, screen, values.json);
    const entry = entryOf(history, path);
    if (values.at !== undefined) {
      const text = history.contentAt(entry.path, values.at);
      if (text === undefined) throw new MissingError(`No version of ${path} is recorded at message ${values.at}.`);
      return await printText(screen, text ?? "");
    }
    if (values.version !== undefined) return await printText(screen, textOf(entry, values.version));
    if (values.diff !== undefined) return await printDiff(screen, entry, values.diff);
    if (values.json) await screen.json(entry);
    else await screen.print(styledText`${entry.path}`, ...versionLines(entry));
    return EXIT.completed;
  },
});

async function listFiles(history: FileHistory, screen: StyledScreen, isJson: boolean): Promise<number> {
  const { sessionId, files: entries, messageUuids } = history;
  if (isJson) await screen.json({ sessionId, files: entries, messageUuids });
  else if (entries.length === 0) await screen.print(styledText`No file copies are recorded in this session.`);
  else {
    const rows = entries.map(({ path, versions }) => [
      String(versions.length),
      lastTime(versions),
      versions.some(({ backupPath }) => backupPath !== null)
        ? path
        : styledText`${path} ${screen.paint.dim("(copies are gone)")}`,
    ]);
    await screen.print(
      ...table(
        [{ title: "VERSIONS", align: "right" }, { title: "LAST COPY" }, { title: "FILE" }],
        rows,
        screen.columns,
      ),
    );
  }
  return EXIT.completed;
}

function lastTime(versions: readonly FileVersion[]): string {
  const time = versions.findLast(({ backupTime }) => backupTime !== null)?.backupTime;
  return time ? shortTime(time) : "";
}

/** Finds a file by its recorded path, its path on disk, or the end of its path. */
function entryOf({ files: entries }: FileHistory, path: string): FileHistoryEntry {
  const exact = entries.find((entry) => entry.path === path || entry.trackingPath === path);
  const ends = entries.filter((entry) => entry.path.endsWith(`/${path}`) || entry.path.endsWith(`\\${path}`));
  const found = exact ?? (ends.length === 1 ? ends[0] : undefined);
  if (found) return found;
  const reason = ends.length > 1 ? `${counted(ends.length, "file")} end with` : "No copies are recorded of";
  throw new MissingError(`${reason} ${path}.`);
}

function versionLines({ versions }: FileHistoryEntry): readonly Styled[] {
  const rows = versions.map((version) => [
    String(version.version),
    version.backupTime ? shortTime(version.backupTime) : "",
    version.messageUuid,
    version.backupFileName === null ? "did not exist" : version.backupPath === null ? "copy is gone" : "",
  ]);
  return table(
    [
      { title: "VERSION", align: "right" },
      { title: "COPIED" },
      { title: "BEFORE THE EDITS OF MESSAGE" },
      { title: "" },
    ],
    rows,
  );
}

function textOf(entry: FileHistoryEntry, number: number): string {
  const version = entry.versions.find((candidate) => candidate.version === number);
  if (!version) throw new MissingError(`${entry.path} has no version ${number}.`);
  if (version.backupFileName === null) return "";
  if (version.backupPath === null) throw new MissingError(`The copy of version ${number} was deleted.`);
  return readFileSync(version.backupPath, "utf8");
}

async function printText(screen: StyledScreen, text: string): Promise<number> {
  await screen.data(screen.isTerminal ? visible(text) : text);
  return EXIT.completed;
}

async function printDiff(
  screen: StyledScreen,
  entry: FileHistoryEntry,
  [from, to]: readonly [from: number, to: number],
): Promise<number> {
  const { paint } = screen;
  const lines = diffLines(textOf(entry, from), textOf(entry, to));
  const marks = { same: " ", removed: "-", added: "+" } as const;
  const colours = { same: paint.dim, removed: paint.red, added: paint.green } as const;
  await screen.print(
    styledText`--- ${entry.path} version ${from}`,
    styledText`+++ ${entry.path} version ${to}`,
    ...lines.map(({ kind, text }) => colours[kind](styledText`${marks[kind]}${text}`)),
  );
  return EXIT.completed;
}
