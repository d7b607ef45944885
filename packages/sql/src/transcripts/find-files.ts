import { type Discovered, type LibraryConfig, discover, isCurrent, isDataNotFoundError } from "@skein/history/discover";

export type FoundFiles = Pick<Discovered, "files" | "skipped">;

/** Returns a function that finds the existing transcripts. It reads folders again only if something has changed. */
export function createFileFinder(library: LibraryConfig): () => FoundFiles {
  let last: Discovered | undefined;
  return () => {
    if (!last || !isCurrent(last, library)) last = found(library);
    return last ?? { files: [], skipped: [] };
  };
}

/**
 * Returns the transcripts, or undefined without Claude Code on this machine. In this case the platform's tables work,
 * and `checkRoots` rejects statements with tables of Claude Code. Throws if a given directory does not exist.
 */
function found(library: LibraryConfig): Discovered | undefined {
  try {
    return discover(library);
  } catch (error) {
    if (isDataNotFoundError(error) && library.dataPath === undefined) return undefined;
    throw error;
  }
}
