import { FileHistoryDelta, FileHistorySnapshot, type FileBackup } from "../format/file-history-lines.ts";
import type { Value } from "../../../model/value.ts";

export interface Snapshot {
  /** The user message of the snapshot. */
  readonly messageId: string;
  readonly files: Map<string, FileBackup>;
}

/**
 * Returns snapshots in the order of their messages. Later lines change a snapshot: updates replace files, deltas add
 * files.
 */
export function foldSnapshots(lines: Iterable<Value>): readonly Snapshot[] {
  const snapshots = new Map<string, Snapshot>();
  for (const line of lines) {
    if (line["type"] === "file-history-snapshot") {
      const { data } = FileHistorySnapshot.safeParse(line);
      if (!data) continue;
      const messageId = data.snapshot.messageId ?? data.messageId;
      const known = snapshots.get(messageId)?.files ?? new Map<string, FileBackup>();
      snapshots.set(messageId, { messageId, files: known });
      for (const [path, backup] of Object.entries(data.snapshot.trackedFileBackups)) known.set(path, backup);
    } else if (line["type"] === "file-history-delta") {
      const { data } = FileHistoryDelta.safeParse(line);
      const files = data && snapshots.get(data.snapshotMessageId)?.files;
      if (files && !files.has(data.trackingPath)) files.set(data.trackingPath, data.backup);
    }
  }
  return [...snapshots.values()];
}
