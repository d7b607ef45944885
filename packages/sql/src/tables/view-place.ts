/** Where the views are made, and from which files. */
export interface ViewPlace {
  readonly schema: "claude" | "history";
  /** The table with the files. */
  readonly files: string;
  /** A column before the others, with its comma; or nothing. */
  readonly source: string;
}
