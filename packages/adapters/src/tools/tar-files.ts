const BLOCK = 512;

/** A plain file in an archive. */
interface TarFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The plain files of a GNU tar archive, while it arrives. An archive that breaks off ends there. */
export async function* tarFiles(archive: AsyncIterable<Uint8Array>): AsyncGenerator<TarFile> {
  const take = taker(archive);
  let longName: string | undefined;
  for (;;) {
    const header = await take(BLOCK);
    // The end of an archive is a block of zeros.
    if (!header || header[0] === 0) return;
    const size = Number.parseInt(textIn(header, 124, 12), 8);
    if (!Number.isSafeInteger(size)) return;
    const body = await take(Math.ceil(size / BLOCK) * BLOCK);
    if (!body) return;
    const bytes = body.subarray(0, size);
    const kind = textIn(header, 156, 1);
    if (kind === "L") {
      longName = textIn(bytes, 0, size);
      continue;
    }
    const name = longName ?? textIn(header, 0, 100);
    longName = undefined;
    if (kind === "0" || kind === "") yield { name, bytes };
  }
}

/** Text up to its NUL byte. */
function textIn(bytes: Uint8Array, from: number, length: number): string {
  const part = bytes.subarray(from, from + length);
  const end = part.indexOf(0);
  return new TextDecoder().decode(end === -1 ? part : part.subarray(0, end));
}

/** Returns a function that reads a number of bytes from a stream; undefined if the stream ends earlier. */
function taker(stream: AsyncIterable<Uint8Array>): (count: number) => Promise<Uint8Array | undefined> {
  const chunks = stream[Symbol.asyncIterator]();
  let held: Uint8Array[] = [];
  let size = 0;
  return async (count) => {
    while (size < count) {
      const { done, value } = await chunks.next();
      if (done) return undefined;
      held.push(value);
      size += value.length;
    }
    const [first] = held;
    const all = held.length === 1 && first ? first : Buffer.concat(held);
    held = [all.subarray(count)];
    size = all.length - count;
    return all.subarray(0, count);
  };
}
