import type { Region } from "../scan/line-splitter.ts";
import type { ByteSearch } from "../scan/byte-search.ts";

/**
 * A computation over the lines of a file. Its state can be saved and continued later.
 *
 * Transcripts only grow, so a saved state continues with the lines after its byte offset. Reasons:
 * docs/decisions/033-facets.md.
 */
export interface Facet<State> {
  readonly name: string;
  /** Increase it when the state changes its meaning. Saved states of another version are ignored. */
  readonly version: number;
  start(): State;
  /** Adds whole lines to the state. `search` can search the region's bytes. */
  fold(state: State, region: Region, search: ByteSearch): void;
  encode(state: State): Uint8Array;
  decode(data: Uint8Array): State;
}

/** A saved state and its file. */
export interface SavedFacet {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
  /** How far the file was read: the end of its last whole line. */
  readonly offset: number;
  /** A hash of bytes before `offset`. It differs if the file was rewritten. */
  readonly check: string;
  readonly data: Uint8Array;
}

export type FacetRow = Omit<SavedFacet, "offset" | "check">;

/** Keeps states between calls. It is a cache: any state may be missing at any time. */
export interface FacetStore {
  /** If false, the store stores nothing, and states are not encoded. */
  readonly keeps: boolean;
  load(facet: { readonly name: string; readonly version: number }): ReadonlyMap<string, SavedFacet>;
  /** Returns the saved state of a file. */
  find(facet: { readonly name: string; readonly version: number }, path: string): SavedFacet | undefined;
  /** Loads one state at a time, for facets with large states. A `FacetRow` has no `offset` and no `check`. */
  each(facet: { readonly name: string; readonly version: number }, onRow: (row: FacetRow) => void): void;
  /** Lists the files that have a saved state of this facet. */
  paths(facet: { readonly name: string }): readonly string[];
  save(facet: { readonly name: string; readonly version: number }, rows: readonly SavedFacet[]): void;
  forget(facet: { readonly name: string; readonly version: number }, paths: readonly string[]): void;
  close(): void;
}

/** A store that stores nothing. */
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
