import { type ChangedFile, type Event, type JsonObject, isJsonObject } from "@skein/protocol";
import { BACKUPS, type Entry, blocksIn } from "../transcript.ts";
import { lineDiff } from "./line-diff.ts";

/** One change of a file, as recorded in Claude Code's transcript. */
interface Change {
  readonly path: string;
  readonly sequence: number;
  readonly at: string;
  readonly toolUseId: string | null;
  /** Null if the file did not exist, or its content was not recorded. */
  readonly before: string | null;
  /** False if the file was too large, so that its content was not recorded. */
  readonly known: boolean;
  readonly after: string;
}

/**
 * Returns the files that Claude Code's tools changed in a session, with the difference between first and last content.
 * Leaves out changes that a rewind undid. Changes by shell commands are missing, because only the log is read.
 *
 * If `rewindTo` is the id of a user message, returns the changes of a rewind to that message.
 */
export function changedFiles(events: readonly Event[], rewindTo?: string): readonly ChangedFile[] {
  const { changes, messages } = changesIn(events);
  const since = rewindTo === undefined ? 0 : (messages.get(rewindTo) ?? 0);
  const byPath = Map.groupBy(
    changes.filter(({ sequence }) => sequence > since),
    ({ path }) => path,
  );
  return [...byPath]
    .map(([path, all]) => netChange(path, all, rewindTo !== undefined))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function changesIn(events: readonly Event[]) {
  let changes: Change[] = [];
  const messages = new Map<string, number>();
  const rewinds = new Map<string, string>();
  for (const event of events) {
    if (event.event_type === "message.created") messages.set(event.data.message_id, event.sequence);
    if (event.event_type === "rewind.requested" && !event.data.dry_run)
      rewinds.set(event.data.rewind_id, event.data.user_message_uuid);
    if (event.event_type === "rewind.completed" && !event.data.error) {
      const place = messages.get(rewinds.get(event.data.rewind_id) ?? "");
      if (place !== undefined) changes = changes.filter(({ sequence }) => sequence <= place);
    }
    if (event.event_type === "transcript.appended" && !event.data.subpath?.startsWith(BACKUPS))
      for (const entry of event.data.entries as Entry[]) changes.push(...changeIn(entry, event));
  }
  return { changes, messages };
}

function netChange(path: string, all: readonly Change[], isBack: boolean): ChangedFile {
  const [first, last] = [all[0] as Change, all.at(-1) as Change];
  const [old, now] = [first.before ?? "", last.after];
  const diff = first.known ? (isBack ? lineDiff(now, old) : lineDiff(old, now)) : undefined;
  const isNew = first.known && first.before === null;
  return {
    path,
    status: isNew ? (isBack ? "removed" : "added") : "modified",
    insertions: diff?.insertions ?? null,
    deletions: diff?.deletions ?? null,
    changes: all.length,
    last_changed_at: last.at,
    last_tool_use_id: last.toolUseId,
    diff: diff ? unified({ path, isNew: isNew && !isBack, isGone: isNew && isBack }, diff.text) : null,
  };
}

function unified(file: { path: string; isNew: boolean; isGone: boolean }, text: string): string {
  const name = file.path.replace(/^\//, "");
  const [before, after] = [file.isNew ? "/dev/null" : `a/${name}`, file.isGone ? "/dev/null" : `b/${name}`];
  return text === "" ? "" : `--- ${before}\n+++ ${after}\n${text}`;
}

/** Returns the change in the result of Write, Edit or NotebookEdit. */
function changeIn(entry: Entry, { sequence, created_at }: Event): readonly Change[] {
  const result = entry["toolUseResult"];
  if (entry.type !== "user" || !isJsonObject(result)) return [];
  const toolUseId = blocksIn(entry).find(({ type }) => type === "tool_result")?.["tool_use_id"];
  const at = typeof entry["timestamp"] === "string" ? entry["timestamp"] : created_at;
  const told = { sequence, at, toolUseId: typeof toolUseId === "string" ? toolUseId : null };
  const written = writtenBy(result);
  return written ? [{ ...told, ...written }] : [];
}

function writtenBy(result: JsonObject): Pick<Change, "path" | "before" | "known" | "after"> | undefined {
  const { filePath, notebook_path, originalFile, original_file, updated_file, content, type } = result;
  const before = text(originalFile ?? original_file);
  if (typeof notebook_path === "string" && typeof updated_file === "string")
    return { path: notebook_path, before, known: before !== null, after: updated_file };
  if (typeof filePath !== "string") return undefined;
  if (typeof content === "string" && (type === "create" || type === "update"))
    return { path: filePath, before, known: type === "create" || before !== null, after: content };
  const { oldString, newString, replaceAll } = result;
  if (typeof oldString !== "string" || typeof newString !== "string") return undefined;
  const original = before ?? "";
  const after =
    replaceAll === true
      ? original.split(oldString).join(newString)
      : // A function is needed, because `$&` in a string would be a pattern.
        original.replace(oldString, () => newString);
  return { path: filePath, before, known: before !== null || oldString === "", after };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
