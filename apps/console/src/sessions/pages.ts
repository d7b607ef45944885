/** A long list that loads only the visible pages. */
export interface Pages<Item> {
  /** The number of rows; undefined until the first page has arrived. */
  readonly total: number | undefined;
  readonly rowAt: (index: number) => Item | undefined;
  /** Requests a row; its page is loaded if it is missing. */
  readonly want: (index: number) => void;
  readonly isLoading: boolean;
  readonly error: unknown;
  /** A number that changes whenever a page changes. */
  readonly version: number;
}
