/**
 * The files of a thread. Most threads have one. When a person goes back to an earlier message, Codex begins another file of
 * the same thread. A fork also begins a new file. Each new file has the id of the file and the line after which it continues.
 */
import { basename } from "node:path";
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { filesNamed, firstRecord } from "../port/files.ts";

export const rolloutName = /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+?)(?:_([0-9a-f-]{36}))?\.jsonl(?:\.zst)?$/;

/** The thread of a file, and the file's own id: the first file of a thread has the id of the thread. */
export function idsOf(path: string): { readonly thread: string; readonly rollout: string } | undefined {
  const [, thread, rollout = thread] = rolloutName.exec(basename(path)) ?? [];
  return thread === undefined || rollout === undefined ? undefined : { thread, rollout };
}

export interface Base {
  /** The id of the file. */
  readonly rollout: string;
  /** The number of its first line that is not part of the conversation. */
  readonly end: number;
}

/** The conversation that a file continues, from the first record of the file. */
export function baseOf(meta: Value): Base | undefined {
  const base = objectOf(meta["history_base"]);
  const rollout = stringOf(base["thread_id"]);
  const end = numberOf(base["end_ordinal_exclusive"]);
  return rollout === null || end === null ? undefined : { rollout, end };
}

export interface Segment extends Base {
  readonly path: string;
}

/** The parts of other threads with which a fork begins, the oldest first. A missing file ends the chain. */
export function inheritedBy(base: Base | undefined, pathOf: (rollout: string) => string | undefined): Segment[] {
  const segments: Segment[] = [];
  const seen = new Set<string>();
  for (let at = base; at && !seen.has(at.rollout);) {
    seen.add(at.rollout);
    const path = pathOf(at.rollout);
    if (path === undefined) break;
    segments.unshift({ ...at, path });
    at = baseOf(objectOf(firstRecord(path)?.["payload"]));
  }
  return segments;
}

/** The file with this id, below the root. */
export function rolloutAt(folders: readonly string[], rollout: string): string | undefined {
  return folders
    .flatMap((folder) => filesNamed(folder, rolloutName, []))
    .find((path) => idsOf(path)?.rollout === rollout);
}
