/** A long list of which only the pages that somebody looks at are asked for. */
export interface Pages<Item> {
  /** How many rows there are; undefined until the first page is there. */
  readonly total: number | undefined;
  readonly rowAt: (index: number) => Item | undefined;
  /** Says that a row is wanted; its page is asked for if it is not there. */
  readonly want: (index: number) => void;
  readonly isLoading: boolean;
  readonly error: unknown;
  /** Changes whenever a page does. */
  readonly version: number;
}
