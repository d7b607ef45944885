/** The line, document or row that a message was read from. */
import { basename, join, dirname } from "node:path";
import type { MessageBase } from "../model/types.ts";
import { stringOf } from "../model/value.ts";
import { loadState } from "./mirror/mirror-state.ts";
import { markOf } from "./mirror/source-of-root.ts";
import { sources } from "./registry.ts";

/**
 * The original of a message, as its agent wrote it: a line of a file, a part of a document, or a row of a database as JSON.
 * Undefined if it no longer exists.
 */
export function readOriginal(
  session: { readonly path: string },
  message: Pick<MessageBase, "raw" | "lineNumber">,
): string | undefined {
  const root = rootOf(session.path);
  if (root === undefined) return undefined;
  const mark = markOf(root);
  const source = sources.find(({ name }) => name === (mark?.source ?? "claude-code"));
  const { units } = source?.units(mark?.root ?? root) ?? { units: [] };
  if (!mark) {
    const own = units.find(({ path }) => path === session.path);
    return own && source?.original(own, `line ${message.lineNumber}`);
  }
  const from = stringOf(message.raw["from"]);
  const place = session.path.slice(root.length + 1);
  const state = loadState(root, mark.source, mark.root);
  const id = Object.entries(state.units).find(([, unit]) => unit.place === place)?.[0];
  const unit = units.find((each) => each.id === id);
  if (!unit) return undefined;
  // A line that was copied unchanged has no reference to an original.
  return from === null ? JSON.stringify(message.raw) : source?.original(unit, from);
}

/** The data directory that contains a transcript. */
function rootOf(path: string): string | undefined {
  for (let at = dirname(path); at !== dirname(at); at = dirname(at))
    if (basename(at) === "projects") return join(at, "..");
  return undefined;
}
