/** One replacement: position and length of the new bytes, and the old bytes. */
export interface Splice {
  readonly at: number;
  readonly length: number;
  readonly old: Buffer;
}

/**
 * A compact list of splices in the order of their positions. Usually only a few different paths are replaced, so each
 * old text is stored once. The list is in the journal, for undo.
 */
export interface SpliceList {
  /** The replaced bytes, in base64. */
  readonly old: readonly string[];
  /** Three numbers per splice: the distance from the previous splice, the length, the index in `old`. */
  readonly places: readonly number[];
}

export interface SpliceCollector {
  add(splice: Splice): void;
  readonly count: number;
  list(): SpliceList;
}

export function collectSplices(): SpliceCollector {
  const indexes = new Map<string, number>();
  const places: number[] = [];
  let last = 0;
  return {
    add({ at, length, old }) {
      const text = old.toString("base64");
      let index = indexes.get(text);
      if (index === undefined) {
        index = indexes.size;
        indexes.set(text, index);
      }
      places.push(at - last, length, index);
      last = at;
    },
    get count() {
      return places.length / 3;
    },
    list: () => ({ old: [...indexes.keys()], places }),
  };
}

export function* splicesIn({ old, places }: SpliceList): Generator<Splice, undefined> {
  const bytes = old.map((text) => Buffer.from(text, "base64"));
  let at = 0;
  for (let i = 0; i < places.length; i += 3) {
    at += places[i] ?? 0;
    yield { at, length: places[i + 1] ?? 0, old: bytes[places[i + 2] ?? 0] ?? Buffer.alloc(0) };
  }
  return undefined;
}
