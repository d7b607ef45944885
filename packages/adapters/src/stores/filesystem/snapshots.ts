import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "@skein/core";
import { makeFolder, readBytes, replaceFile, withKnownErrors } from "./durable-files.ts";

/**
 * Stores the folded states of sessions in files. If a snapshot is lost or damaged, the state is computed from the log
 * again, so snapshots are not synced.
 */
export interface Snapshots {
  read(sessionId: string): Promise<Snapshot | undefined>;
  write(sessionId: string, snapshot: Snapshot): Promise<void>;
  remove(sessionId: string): void;
}

export function createSnapshots(folder: string): Snapshots {
  const path = (sessionId: string): string => join(folder, "snapshots", `${sessionId}.json`);
  makeFolder(join(folder, "snapshots"));
  return {
    async read(sessionId) {
      const bytes = await readBytes(path(sessionId)).catch(() => undefined);
      return bytes && parsedSnapshot(bytes.toString());
    },
    write: (sessionId, { sequence, version, state }) =>
      withKnownErrors(path(sessionId), () =>
        replaceFile(path(sessionId), JSON.stringify({ sequence, version, state }), false),
      ),
    remove: (sessionId) => rmSync(path(sessionId), { force: true }),
  };
}

function parsedSnapshot(text: string): Snapshot | undefined {
  try {
    return JSON.parse(text) as Snapshot;
  } catch {
    return undefined;
  }
}
