import { type Discovered, type LibraryConfig, discover, isCurrent, isDataNotFoundError } from "@skein/history/discover";

export type FoundFiles = Pick<Discovered, "files" | "skipped">;

/** Returns the transcripts that exist now. Folders are read again only if something has changed. */
export function createFileFinder(library: LibraryConfig): () => FoundFiles {
  let last: Discovered | undefined;
  return () => {
    if (!last || !isCurrent(last, library)) last = found(library);
    return last ?? { files: [], skipped: [] };
  };
}

/**
 * The transcripts. Undefined if Claude Code is not on this machine: the platform's tables still work, but a statement that
 * names a table of Claude Code fails (`checkRoots`). A given directory must exist.
 */
function found(library: LibraryConfig): Discovered | undefined {
  try {
    return discover(library);
  } catch (error) {
    if (isDataNotFoundError(error) && library.dataPath === undefined) return undefined;
    throw error;
  }
}
