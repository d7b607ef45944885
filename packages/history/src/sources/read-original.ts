/** Finds the line, the document or the row from which a message was read. */
import { basename, join, dirname } from "node:path";
import type { MessageBase } from "../model/types.ts";
import { stringOf } from "../model/value.ts";
import { unitsOf } from "./mirror/find-sessions.ts";
import { loadState } from "./mirror/mirror-state.ts";
import { markOf, type RootMark } from "./mirror/source-of-root.ts";
import { eachLine, isFile, originalLine } from "./port/files.ts";
import type { Original, TranslatedSource } from "./port/source.ts";
import { sources } from "./registry.ts";

export interface MessageOriginal extends Original {
  /** The place in the file or database, for example `line 12`, `messages/3` or `part/prt_1`. */
  readonly place: string;
}

/** A message, or an unreadable line, which has no `raw`. */
type OriginalOf = Pick<MessageBase, "lineNumber"> & Partial<Pick<MessageBase, "raw">>;

/**
 * Returns the unchanged original of a message. This is a line of a file, a part of a document, or a row of a database
 * as JSON. If the original was deleted, the text is undefined and the path says where it was.
 */
export function readOriginal(session: { readonly path: string }, message: OriginalOf): MessageOriginal {
  const place = `line ${message.lineNumber}`;
  const root = rootOf(session.path);
  const mark = root === undefined ? undefined : markOf(root);
  const source = sources.find(({ name }) => name === mark?.source);
  if (root === undefined || !mark || source?.reads !== "translated")
    return { place, ...originalLine(session.path, place) };
  return translatedFrom({ session, message, root, mark, source });
}

interface Translated {
  readonly session: { readonly path: string };
  readonly message: OriginalOf;
  readonly root: string;
  readonly mark: RootMark;
  readonly source: TranslatedSource;
}

function translatedFrom({ session, message, root, mark, source }: Translated): MessageOriginal {
  const place = session.path.slice(root.length + 1);
  const known = Object.entries(loadState(root, mark.source, mark.root).units).find(([, unit]) => unit.place === place);
  const unit = unitsOf({ source, root: mark.root, folder: root }).units.find(({ id }) => id === known?.[0]);
  const from = stringOf(message.raw?.["from"]);
  if (!unit) return { path: known?.[1].path ?? mark.root, place: from ?? basename(session.path), text: undefined };
  if (from !== null) return { place: from, ...source.original(unit, from) };
  // This line was copied unchanged, so it does not say where its original is.
  const copied = originalLine(session.path, `line ${message.lineNumber}`).text;
  // If a sentence about damage replaced the line, the sentence contains the number of the line.
  const named = /^skein: (line \d+): /.exec(copied ?? "")?.[1] ?? placeOfLine(unit.path, copied);
  return { place: named, ...originalLine(unit.path, named) };
}

function placeOfLine(path: string, text: string | undefined): string {
  let place = "a line";
  if (text !== undefined && isFile(path))
    eachLine(path, (bytes, number) => {
      if (bytes.toString("utf8") === text) place = `line ${number}`;
    });
  return place;
}

/** Returns the data directory of a transcript. */
function rootOf(path: string): string | undefined {
  for (let at = dirname(path); at !== dirname(at); at = dirname(at))
    if (basename(at) === "projects") return join(at, "..");
  return undefined;
}
