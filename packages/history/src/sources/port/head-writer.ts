/** Reads the folder and the parent of a session, but not its conversation. */
import { folderPath } from "./folder-path.ts";
import type { TranslatedSource, Unit } from "./source.ts";
import { parentOf, type TranscriptWriter, type WriterHead } from "./transcript-writer.ts";

/** A source gets this error when the head of a session is known, so that it stops reading. */
class HeadRead extends Error {
  override readonly name = "HeadRead";
}

/** A single error object is reused, because creating an error takes longer than reading a head. */
const headRead = new HeadRead();

/** The working directory in the first line of a session, and the parent session if it is a subagent. */
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
