/** A long list that loads only the visible pages. */
export interface Pages<Item> {
  /** How many rows there are; undefined until the first page is there. */
  readonly total: number | undefined;
  readonly rowAt: (index: number) => Item | undefined;
  /** Requests a row; its page is loaded if it is missing. */
  readonly want: (index: number) => void;
  readonly isLoading: boolean;
  readonly error: unknown;
  /** Changes whenever a page does. */
  readonly version: number;
}
