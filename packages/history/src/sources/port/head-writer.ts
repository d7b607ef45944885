/** Reads the folder and the parent of a session, but not its conversation. */
import { folderPath } from "./folder-path.ts";
import type { TranslatedSource, Unit } from "./source.ts";
import { parentOf, type TranscriptWriter, type WriterHead } from "./transcript-writer.ts";

/** Thrown into a source to stop it, as soon as the folder and the parent of a session are known. */
class HeadRead extends Error {
  override readonly name = "HeadRead";
}

/** A single error object is reused, because creating an error takes longer than reading a head. */
const headRead = new HeadRead();

/**
 * Returns the working directory that a session names before its first message, and the parent session of a subagent.
 */
export function readHead(source: TranslatedSource, unit: Unit): WriterHead {
  let cwd: string | null = null;
  let parent: WriterHead["parent"];
  const done = (): never => {
    throw headRead;
  };
  const writer: TranscriptWriter = {
    wants: "head",
    place: (at) => void (cwd = at.cwd ? folderPath(at.cwd) : cwd),
    subagentOf: (found) => void (parent = parentOf(found)),
    title() {},
    user: done,
    answer: done,
    result: done,
    usage: done,
    compaction: done,
    other() {},
    damage() {},
    copy: done,
    last: null,
    uuidOf: () => "",
    get head() {
      return { cwd, parent };
    },
  };
  try {
    source.read(unit, writer);
  } catch (error) {
    if (error !== headRead) throw error;
  }
  return { cwd, parent };
}
