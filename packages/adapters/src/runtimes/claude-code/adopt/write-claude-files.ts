import { type ClaudeFile, KnownError } from "@skein/protocol";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Writes files of a session into a data directory. Only the user of this process can read the files. Transcripts may
 * only get longer. If an existing transcript has other lines, nothing is written.
 */
export function writeClaudeFiles(files: readonly ClaudeFile[], directory: string): readonly string[] {
  const places = files.map(({ path, content, encoding }) => ({
    path: join(directory, path),
    bytes: Buffer.from(content, encoding),
  }));
  const changed = places.filter(({ path, bytes }) => {
    const there = bytesAt(path);
    if (there === undefined) return true;
    // Claude Code only appends to a transcript, but rewrites other files, which have one JSON object.
    if (path.endsWith(".jsonl") && !bytes.subarray(0, there.length).equals(there))
      throw new KnownError("already_exists", `${path} exists already with other content. Nothing was written.`);
    return !there.equals(bytes);
  });
  for (const { path, bytes } of changed) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const half = `${path}.${randomUUID()}.tmp`;
    writeFileSync(half, bytes, { mode: 0o600, flag: "wx", flush: true });
    renameSync(half, path);
  }
  return places.map(({ path }) => path);
}

function bytesAt(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
