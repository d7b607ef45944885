import { type Discovered, type LibraryConfig, discover, isCurrent, isDataNotFoundError } from "@skein/history/discover";

export type FoundFiles = Pick<Discovered, "files" | "skipped">;

/** Says which transcripts there are now. Folders are read again only after something has changed. */
export function createFileFinder(library: LibraryConfig): () => FoundFiles {
  let last: Discovered | undefined;
  return () => {
    if (!last || !isCurrent(last, library)) last = found(library);
    return last ?? { files: [], skipped: [] };
  };
}

/** Somebody without Claude Code still has the platform's tables. A directory that was named must be there. */
function found(library: LibraryConfig): Discovered | undefined {
  try {
    return discover(library);
  } catch (error) {
    if (isDataNotFoundError(error) && library.dataPath === undefined) return undefined;
    throw error;
  }
}
