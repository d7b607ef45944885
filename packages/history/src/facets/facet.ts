import type { Region } from "../scan/line-splitter.ts";
import type { ByteSearch } from "../scan/byte-search.ts";

/**
 * What is known about a file by reading its lines once: a fold that can be saved and continued.
 *
 * Transcripts only grow, so the state at a byte offset is enough to go on from there when lines were appended.
 */
export interface Facet<State> {
  readonly name: string;
  /** Raise it when the state changes its meaning: saved states of another version are not used. */
  readonly version: number;
  start(): State;
  /** Takes in whole lines. `search` can search the region's bytes. */
  fold(state: State, region: Region, search: ByteSearch): void;
  encode(state: State): Uint8Array;
  decode(data: Uint8Array): State;
}

/** A state as saved, and the file it was made from. */
export interface SavedFacet {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
  /** How far the file was read: the end of its last whole line. */
  readonly offset: number;
  /** A hash of the bytes before `offset`, to notice a file that was rewritten. */
  readonly check: string;
  readonly data: Uint8Array;
}

/** Where states are kept between calls. It may forget anything at any time. */
export interface FacetStore {
  /** False for a store that keeps nothing, so that nobody prepares what would be thrown away. */
  readonly keeps: boolean;
  load(facet: { readonly name: string; readonly version: number }): ReadonlyMap<string, SavedFacet>;
  /** The row of one file. */
  find(facet: { readonly name: string; readonly version: number }, path: string): SavedFacet | undefined;
  /** Like `load`, one row after the other, for facets that are large. */
  each(facet: { readonly name: string; readonly version: number }, onRow: (row: SavedFacet) => void): void;
  /** The files that a facet is kept of. */
  paths(facet: { readonly name: string }): readonly string[];
  save(facet: { readonly name: string; readonly version: number }, rows: readonly SavedFacet[]): void;
  forget(facet: { readonly name: string; readonly version: number }, paths: readonly string[]): void;
  close(): void;
}

/** A store that keeps nothing. */
export const noFacetStore: FacetStore = {
  keeps: false,
  load: () => new Map(),
  find: () => undefined,
  each() {},
  paths: () => [],
  save() {},
  forget() {},
  close() {},
};
