/** Collects items from several sources into one stream, in the order of arrival, until the end or an error. */
export interface Items<Item> {
  push(item: Item): void;
  end(): void;
  fail(error: unknown): void;
  items(): AsyncGenerator<Item>;
}

export function createItems<Item>(): Items<Item> {
  const waiting: Item[] = [];
  let failure: { readonly error: unknown } | undefined;
  let isOver = false;
  let wake = (): void => {};
  return {
    push(item) {
      waiting.push(item);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    fail(error) {
      failure = { error };
      isOver = true;
      wake();
    },
    async *items() {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else if (failure) throw failure.error;
        else if (isOver) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
