/** The schema of some views, and the files that they read. */
export interface ViewPlace {
  readonly schema: "claude" | "history";
  /** The table with the files. */
  readonly files: string;
  /** The first column with its comma, or an empty text. */
  readonly source: string;
}
