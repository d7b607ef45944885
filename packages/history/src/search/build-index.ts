import type { LibraryConfig } from "../config.ts";
import { discover } from "../sources/discover.ts";
import { foldFiles } from "../facets/fold-files.ts";
import { sessionDetailsFacet } from "../sources/claude-code/details/session-details.ts";
import { withStore } from "../facets/with-store.ts";
import { usageFacet } from "../sources/claude-code/usage/file-usage.ts";
import { gramsFacet } from "./grams.ts";

export interface IndexResult {
  readonly files: number;
  /** The number of bytes that were read. It is 0 if the index was complete, because only new lines are read. */
  readonly bytesRead: number;
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}

export interface IndexOptions extends LibraryConfig {
  readonly onProgress?: (done: number, total: number) => void;
}

/** Brings the index up to date, so that lists, usage and searches only read what is new. */
export async function buildIndex(options: IndexOptions = {}): Promise<IndexResult> {
  return await withStore(options, async (store) => {
    const { files, roots } = discover(options);
    const { signal, onProgress } = options;
    const grams = await foldFiles(gramsFacet, files, { store, signal, onProgress, forgetStates: true });
    const details = await foldFiles(sessionDetailsFacet, files, { store, signal, forgetStates: true });
    // The usage of other agents is stored separately, and only usage reports update it.
    const own = files.filter(({ root }) => !options.mirrors?.has(root));
    const usage = await foldFiles(usageFacet, own, { store, signal, forgetStates: true });
    const present = new Set(files.map(({ path }) => path));
    for (const facet of [gramsFacet, sessionDetailsFacet, usageFacet]) {
      const gone = store.paths(facet).filter((path) => !present.has(path) && isBelow(path, roots));
      if (gone.length > 0) store.forget(facet, gone);
    }
    return {
      files: files.length,
      bytesRead: Math.max(grams.bytesRead, details.bytesRead, usage.bytesRead),
      unreadable: grams.failed.map(({ file, error }) => ({ path: file.path, reason: error.message })),
    };
  });
}

/** Whether the path is in one of the data directories. Rows of other paths stay in the index. */
function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path.startsWith(`${root}/`) || path.startsWith(`${root}\\`));
}
