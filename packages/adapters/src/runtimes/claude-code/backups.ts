import { basename } from "node:path";
import { readWithoutLinks, writeWithoutLinks } from "../../sandboxes/without-links.ts";
import { BACKUPS, type Entry, type Transcript } from "./transcript.ts";

/**
 * Stores copies of files as they were before Claude Code changed them. The SDK keeps the copies only in the folder of
 * the process, so a rewind would fail on another machine. Therefore Skein also stores them in the log.
 *
 * The SDK rejects the option `enableFileCheckpointing` together with a session store, but Claude Code works with both.
 * So Skein sets the environment variable of that option.
 */

/** The folder of the copies in Claude Code's configuration folder. */
const FOLDER = "file-history";

/** The largest copy in the log. A rewind of a larger file is only possible on the machine with the copy. */
const MAXIMUM_BYTES = 8 * 1024 * 1024;

/** Returns the names of the copies in these entries. */
export function backupNames(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap((entry) => {
    if (entry.type === "file-history-delta") return nameOf(entry["backup"]);
    if (entry.type !== "file-history-snapshot") return [];
    const snapshot = entry["snapshot"] as { trackedFileBackups?: Record<string, unknown> } | undefined;
    return Object.values(snapshot?.trackedFileBackups ?? {}).flatMap(nameOf);
  });
}

/** Returns a copy as an entry, or undefined if it cannot be read. */
export function readBackup(configDir: string, sessionId: string, name: string): Entry | undefined {
  const data = readWithoutLinks(configDir, [FOLDER, sessionId, basename(name)], MAXIMUM_BYTES);
  return data && { type: "file-history-backup", name: basename(name), data: Buffer.from(data).toString("base64") };
}

export function writeBackups(transcript: Transcript, configDir: string, sessionId: string): void {
  for (const [subpath, entries] of transcript) {
    const [backup] = entries;
    if (!subpath.startsWith(BACKUPS) || !backup) continue;
    const data = Buffer.from(String(backup["data"]), "base64");
    writeWithoutLinks(configDir, [FOLDER, sessionId, basename(String(backup["name"]))], data);
  }
}

function nameOf(backup: unknown): readonly string[] {
  const name = (backup as { backupFileName?: unknown } | null | undefined)?.backupFileName;
  return typeof name === "string" ? [name] : [];
}
