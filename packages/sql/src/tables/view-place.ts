/** Where the views are made, and from which files. */
export interface ViewPlace {
  readonly schema: "claude" | "history";
  /** The table with the files. */
  readonly files: string;
  /** A column that comes before the others, with its comma, or an empty text. */
  readonly source: string;
}
