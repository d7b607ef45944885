/**
 * Finds the files of a thread. Most threads have one file. If a person goes back to an earlier message or forks the
 * thread, Codex begins a new file. The new file contains the id of the earlier file and the line at which it continues.
 */
import { basename } from "node:path";
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { filesNamed, firstRecord } from "../port/files.ts";

export const rolloutName = /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+?)(?:_([0-9a-f-]{36}))?\.jsonl(?:\.zst)?$/;

/**
 * Returns the ids of the thread and the file from the file name. The first file of a thread has the id of the thread.
 */
export function idsOf(path: string): { readonly thread: string; readonly rollout: string } | undefined {
  const [, thread, rollout = thread] = rolloutName.exec(basename(path)) ?? [];
  return thread === undefined || rollout === undefined ? undefined : { thread, rollout };
}

export interface Base {
  /** The id of the earlier file. */
  readonly rollout: string;
  /** The number of the earlier file's first line that does not belong to the conversation. */
  readonly end: number;
}

/** Returns the base from the first record of a file, or undefined if the file continues no other file. */
export function baseOf(meta: Value): Base | undefined {
  const base = objectOf(meta["history_base"]);
  const rollout = stringOf(base["thread_id"]);
  const end = numberOf(base["end_ordinal_exclusive"]);
  return rollout === null || end === null ? undefined : { rollout, end };
}

export interface Segment extends Base {
  readonly path: string;
}

/** Returns the parts of other threads that a fork continues, the oldest first. A missing file ends the search. */
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

/** Returns the file with this id in these folders. */
export function rolloutAt(folders: readonly string[], rollout: string): string | undefined {
  return folders
    .flatMap((folder) => filesNamed(folder, rolloutName, []))
    .find((path) => idsOf(path)?.rollout === rollout);
}
