import { FileHistoryDelta, FileHistorySnapshot } from "@skein/history/format";
import { isAbsolute, join } from "node:path";
import type { ClaudeSession } from "./claude-session.ts";

/**
 * Returns the files that changed after a user message, as absolute paths, by the id of the message. Includes only
 * messages for which Claude Code kept copies of files.
 */
export function checkpointsOf({ lines, cwd }: ClaudeSession): ReadonlyMap<string, ReadonlySet<string>> {
  const checkpoints = new Map<string, Set<string>>();
  /**
   * The copy of each file in the latest snapshot. If the next snapshot has another copy, the file changed between the
   * snapshots.
   */
  const copies = new Map<string, string | null>();
  let newest: string | undefined;
  const of = (messageId: string): Set<string> => {
    const files = checkpoints.get(messageId) ?? new Set();
    checkpoints.set(messageId, files);
    return files;
  };
  const place = (path: string): string => (isAbsolute(path) ? path : join(cwd ?? "/", path));

  for (const { entry } of lines) {
    const snapshot = FileHistorySnapshot.safeParse(entry).data;
    const delta = FileHistoryDelta.safeParse(entry).data;
    if (delta) of(delta.snapshotMessageId).add(place(delta.trackingPath));
    if (!snapshot) continue;
    const messageId = snapshot.snapshot.messageId ?? snapshot.messageId;
    const isNew = !checkpoints.has(messageId);
    const files = of(messageId);
    for (const [path, { backupFileName }] of Object.entries(snapshot.snapshot.trackedFileBackups)) {
      const known = copies.get(path);
      copies.set(path, backupFileName);
      if (known === backupFileName) continue;
      // The first snapshot of a message has changes of the previous turn. Later snapshots of the message have changes
      // of the current turn.
      if (!isNew) files.add(place(path));
      else if (newest !== undefined && known !== undefined) of(newest).add(place(path));
    }
    newest = messageId;
  }
  return checkpoints;
}
