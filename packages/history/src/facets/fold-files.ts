import { createHash } from "node:crypto";
import { closeSync, readSync } from "node:fs";
import type { DataFile } from "../model/data-file.ts";
import { createPause } from "../scan/pause.ts";
import { createByteSearch, type ByteSearch } from "../scan/byte-search.ts";
import { openPlainFile, readFile } from "../scan/read-file.ts";
import type { Facet, FacetStore, SavedFacet } from "./facet.ts";

export interface FoldFilesOptions<State> {
  readonly store: FacetStore;
  /** If true, only the store is updated, and the result has no states. */
  readonly forgetStates?: boolean;
  /** Receives the states one by one, so that they are not all in memory. If given, the result has no states. */
  readonly onState?: (file: DataFile, state: State) => void;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

const maxUnsavedBytes = 1024 * 1024;

interface Folded<State> {
  readonly file: DataFile;
  readonly state: State;
}

interface FoldedFiles<State> {
  readonly folded: readonly Folded<State>[];
  /** Files that could not be read, and why. The other files are still read. */
  readonly failed: readonly { readonly file: DataFile; readonly error: Error }[];
  /** How many bytes were read: 0 if every state was in the store. */
  readonly bytesRead: number;
}

/**
 * Computes the state of a facet for each file. If the file was rewritten, its saved state is not used. If the file has
 * grown, only the new lines are read.
 */
export async function foldFiles<State>(
  facet: Facet<State>,
  files: readonly DataFile[],
  options: FoldFilesOptions<State>,
): Promise<FoldedFiles<State>> {
  const search = createByteSearch();
  const pause = createPause(options.signal);
  const folded: Folded<State>[] = [];
  const failed: { file: DataFile; error: Error }[] = [];
  let changed: SavedFacet[] = [];
  let changedBytes = 0;
  const save = (): void => {
    if (changed.length > 0) options.store.save(facet, changed);
    changed = [];
    changedBytes = 0;
  };
  let bytesRead = 0;
  for (const [done, file] of files.entries()) {
    try {
      const known = options.store.find(facet, file.path);
      const result = foldFile(facet, file, known, { search, keeps: options.store.keeps });
      if (options.onState) options.onState(file, result.state);
      else if (!options.forgetStates) folded.push({ file, state: result.state });
      if (result.save) {
        changed.push(result.save);
        changedBytes += result.save.data.length;
        // The states are saved in batches, because the states of thousands of files would not fit into memory at once.
        if (changedBytes > maxUnsavedBytes) save();
      }
      bytesRead += result.bytesRead;
      if (result.bytesRead > 0) options.onProgress?.(done + 1, files.length);
    } catch (error) {
      failed.push({ file, error: error instanceof Error ? error : new Error(String(error)) });
    }
    await pause();
  }
  save();
  return { folded, failed, bytesRead };
}

interface FoldedFile<State> {
  readonly state: State;
  readonly save: SavedFacet | undefined;
  readonly bytesRead: number;
}

function foldFile<State>(
  facet: Facet<State>,
  file: DataFile,
  known: SavedFacet | undefined,
  { search, keeps }: { readonly search: ByteSearch; readonly keeps: boolean },
): FoldedFile<State> {
  const isSame = known && known.size === file.size && known.mtimeMs === file.mtimeMs && known.inode === file.inode;
  if (isSame && known.offset === known.size) return { state: facet.decode(known.data), save: undefined, bytesRead: 0 };
  const continues = known !== undefined && (isSame || hasOnlyGrown(file, known));
  const from = continues ? known.offset : 0;
  let state = continues ? facet.decode(known.data) : facet.start();
  let offset = from;
  let data: Uint8Array | undefined;
  readFile(file.path, { from, until: file.size, search }, (region) => {
    if (region.unterminated && keeps) {
      // The last line may be half written. The result contains it, but the saved state does not. The next call reads it
      // again.
      data = facet.encode(state);
      state = facet.decode(data);
    } else if (!region.unterminated) offset = region.offset + (region.end - region.start);
    if (!region.tooLong) facet.fold(state, region, search);
  });
  if (!keeps || isSame) return { state, save: undefined, bytesRead: file.size - from };
  data ??= facet.encode(state);
  const { path, size, mtimeMs, inode } = file;
  return {
    state,
    save: { path, size, mtimeMs, inode, offset, check: checkOf(path, offset), data },
    bytesRead: size - from,
  };
}

/** Whether the bytes before the saved offset are unchanged. New lines may follow. */
export function hasOnlyGrown(file: DataFile, known: SavedFacet): boolean {
  if (file.inode !== known.inode || file.size < known.offset) return false;
  return checkOf(file.path, known.offset) === known.check;
}

const checkBytes = 4096;

/** Computes a hash of the first and the last bytes before `offset`. A rewrite of a transcript changes the hash. */
function checkOf(path: string, offset: number): string {
  const fd = openPlainFile(path);
  try {
    const hash = createHash("sha256");
    const bytes = Buffer.allocUnsafe(checkBytes);
    for (const start of [0, Math.max(0, offset - checkBytes)]) {
      const count = readSync(fd, bytes, 0, Math.min(checkBytes, offset - start), start);
      hash.update(bytes.subarray(0, count));
    }
    return hash.digest("base64");
  } finally {
    closeSync(fd);
  }
}
