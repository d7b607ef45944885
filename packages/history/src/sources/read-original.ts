/** The line, document or row that a translated message was made from. */
import { basename, join, dirname } from "node:path";
import type { MessageBase } from "../model/types.ts";
import { stringOf } from "../model/value.ts";
import { loadState } from "./mirror/mirror-state.ts";
import { markOf } from "./mirror/source-of-root.ts";
import { otherSources } from "./registry.ts";

/**
 * The original of a message, as its agent wrote it: a line of a file, a part of a document, or a row of a database as JSON.
 * Undefined if it is gone, and for a session of Claude Code, whose lines are the originals themselves (`raw`).
 */
export function readOriginal(
  session: { readonly path: string },
  message: Pick<MessageBase, "raw" | "lineNumber">,
): string | undefined {
  const root = rootOf(session.path);
  const mark = root === undefined ? undefined : markOf(root);
  const source = otherSources.find(({ name }) => name === mark?.source);
  if (!root || !mark || !source) return undefined;
  const from = stringOf(message.raw["from"]);
  const place = session.path.slice(root.length + 1);
  const state = loadState(root, mark.source, mark.root);
  const id = Object.entries(state.units).find(([, unit]) => unit.place === place)?.[0];
  const unit = source.units(mark.root).units.find((each) => each.id === id);
  if (!unit) return undefined;
  // A line that was copied unchanged has no name of its own.
  return from === null ? JSON.stringify(message.raw) : source.original(unit, from);
}

/** The mirror that a transcript lies in. */
function rootOf(path: string): string | undefined {
  for (let at = dirname(path); at !== dirname(at); at = dirname(at))
    if (basename(at) === "projects") return join(at, "..");
  return undefined;
}
