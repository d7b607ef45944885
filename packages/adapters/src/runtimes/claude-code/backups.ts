import { basename } from "node:path";
import { readWithoutLinks, writeWithoutLinks } from "../../sandboxes/without-links.ts";
import { BACKUPS, type Entry, type Transcript } from "./transcript.ts";

/**
 * Copies of files as they were before Claude Code changed them. The SDK keeps the copies in the folder of the process
 * of Claude Code. It does not pass them to a session store, so a rewind would fail on another machine. Therefore they
 * are also stored in the log. The SDK rejects the option `enableFileCheckpointing` together with a session store, but
 * Claude Code itself works with both. So Skein sets the environment variable that the option would set.
 */

/** Where Claude Code keeps the copies, in its configuration folder. */
const FOLDER = "file-history";

/** Larger copies are not stored in the log; a rewind of such a file needs the machine that made the copy. */
const MAXIMUM_BYTES = 8 * 1024 * 1024;

/** The copies that these entries name. */
export function backupNames(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap((entry) => {
    if (entry.type === "file-history-delta") return nameOf(entry["backup"]);
    if (entry.type !== "file-history-snapshot") return [];
    const snapshot = entry["snapshot"] as { trackedFileBackups?: Record<string, unknown> } | undefined;
    return Object.values(snapshot?.trackedFileBackups ?? {}).flatMap(nameOf);
  });
}

/** One copy as an entry, or undefined if it cannot be read. */
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
