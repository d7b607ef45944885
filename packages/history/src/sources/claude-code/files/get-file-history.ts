import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join, posix, win32 } from "node:path";
import type { LibraryConfig } from "../../../config.ts";
import { SessionNotFoundError } from "../../../errors.ts";
import { findSession } from "../../../get/get-session.ts";
import { readTranscript } from "../transcript/read-transcript.ts";
import { withStore } from "../../../facets/with-store.ts";
import { readDetails } from "../../../list/sessions.ts";
import type { Snapshot } from "./snapshots.ts";

export interface FileVersion {
  readonly version: number;
  /** The user message. The copy was made before the edits that followed this message. */
  readonly messageUuid: string;
  readonly backupTime: Date | null;
  /** Null if the file did not exist at that time. */
  readonly backupFileName: string | null;
  /** The path of the copy; null if the copy was not made or was deleted. */
  readonly backupPath: string | null;
}

export interface FileHistoryEntry {
  /** The absolute path. If the working directory is unknown, this is the recorded path. */
  readonly path: string;
  /** The recorded path. Inside the working directory, it is a relative path. */
  readonly trackingPath: string;
  readonly versions: readonly FileVersion[];
}

export interface FileHistory {
  readonly sessionId: string;
  readonly files: readonly FileHistoryEntry[];
  /** The user messages that have a snapshot, in order. */
  readonly messageUuids: readonly string[];
  /**
   * Returns the text of a file at a user message, before later edits. Returns null if the file did not exist, and
   * undefined if no copy exists.
   */
  contentAt(path: string, messageUuid: string): string | null | undefined;
}

/** Finds the copies of files that Claude Code made before its edits. */
export async function getFileHistory(idOrIndex: number | string, config: LibraryConfig = {}): Promise<FileHistory> {
  return await withStore(config, async (store) => {
    const { file, order } = await findSession(idOrIndex, config, store);
    await readDetails([file], order.details, config, store);
    const cwds = order.details.get(file)?.cwds ?? [];
    const { sessionId } = file;
    if (sessionId === undefined) throw new SessionNotFoundError(idOrIndex);
    const { messages } = readTranscript(file.path, new Date(file.mtimeMs));
    const { foldSnapshots } = await import("./snapshots.ts");
    const snapshots = foldSnapshots(messages.map(({ raw }) => raw));
    return describe(snapshots, { sessionId, cwds, folder: join(file.root, "file-history", sessionId) });
  });
}

interface Place {
  readonly sessionId: string;
  readonly cwds: readonly string[];
  readonly folder: string;
}

function describe(snapshots: readonly Snapshot[], { sessionId, cwds, folder }: Place): FileHistory {
  const byPath = new Map<string, FileVersion[]>();
  for (const { messageId, files } of snapshots) {
    for (const [trackingPath, { backupFileName, version, backupTime }] of files) {
      const versions = byPath.get(trackingPath) ?? [];
      byPath.set(trackingPath, versions);
      if (versions.some((known) => known.version === version && known.backupFileName === backupFileName)) continue;
      versions.push({
        version,
        messageUuid: messageId,
        backupTime: backupTime === undefined ? null : new Date(backupTime),
        backupFileName,
        backupPath: backupPath(folder, backupFileName),
      });
    }
  }
  const files = [...byPath].map(([trackingPath, versions]) => ({
    path: absolutePath(trackingPath, cwds, versions),
    trackingPath,
    versions: versions.toSorted((a, b) => a.version - b.version),
  }));
  return {
    sessionId,
    files,
    messageUuids: snapshots.map(({ messageId }) => messageId),
    contentAt(path, messageUuid) {
      const entry = files.find((file) => file.path === path || file.trackingPath === path);
      const from = snapshots.findIndex(({ messageId }) => messageId === messageUuid);
      if (!entry || from < 0) return undefined;
      // Claude Code copies a file before its first edit. So the next copy after this message has the file's content at
      // this message.
      for (const { files: tracked } of snapshots.slice(from)) {
        const backup = tracked.get(entry.trackingPath);
        if (!backup) continue;
        if (backup.backupFileName === null) return null;
        const found = backupPath(folder, backup.backupFileName);
        return found === null ? undefined : readFileSync(found, "utf8");
      }
      return undefined;
    },
  };
}

/**
 * Makes the path of a copy. The name is checked, because it comes from a transcript and could lead out of the folder.
 */
function backupPath(folder: string, name: string | null): string | null {
  if (name === null || !/^[0-9A-Za-z]+@v\d+$/.test(name)) return null;
  const path = join(folder, name);
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? path : null;
}

/**
 * Tries each working directory. With the right directory, the hash of the path is at the beginning of a copy's name.
 */
function absolutePath(trackingPath: string, cwds: readonly string[], versions: readonly FileVersion[]): string {
  if (isAbsolute(trackingPath) || win32.isAbsolute(trackingPath)) return trackingPath;
  const hash = versions.find(({ backupFileName }) => backupFileName !== null)?.backupFileName?.split("@")[0];
  const candidates = cwds.map((cwd) => (/^[A-Za-z]:/.test(cwd) ? win32 : posix).join(cwd, trackingPath));
  const proven = candidates.find((path) =>
    createHash("sha256")
      .update(path)
      .digest("hex")
      .startsWith(hash ?? "-"),
  );
  return proven ?? candidates[0] ?? trackingPath;
}
