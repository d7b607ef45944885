const BLOCK = 512;

/** A plain file in an archive. */
interface TarFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The longest name of a file, in bytes. */
const NAME_BYTES = 8192;

/**
 * Yields the plain files of a GNU tar archive while the archive arrives. Leaves out an incomplete last file, and files
 * of more than `most` bytes. Such a file may have grown after it was listed, and is never kept in memory.
 */
export async function* tarFiles(archive: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<TarFile> {
  const { take, skip } = reader(archive);
  let longName: string | undefined;
  for (;;) {
    const header = await take(BLOCK);
    // The end of an archive is a block of zeros.
    if (!header || header[0] === 0) return;
    const size = Number.parseInt(textIn(header, 124, 12), 8);
    if (!Number.isSafeInteger(size)) return;
    const kind = textIn(header, 156, 1);
    const room = Math.ceil(size / BLOCK) * BLOCK;
    if (size > (kind === "L" ? NAME_BYTES : most)) {
      if (!(await skip(room))) return;
      longName = undefined;
      continue;
    }
    const body = await take(room);
    if (!body) return;
    const bytes = body.subarray(0, size);
    if (kind === "L") {
      longName = textIn(bytes, 0, size);
      continue;
    }
    const name = longName ?? textIn(header, 0, 100);
    longName = undefined;
    if (kind === "0" || kind === "") yield { name, bytes };
  }
}

/** Returns the text up to the first NUL byte. */
function textIn(bytes: Uint8Array, from: number, length: number): string {
  const part = bytes.subarray(from, from + length);
  const end = part.indexOf(0);
  return new TextDecoder().decode(end === -1 ? part : part.subarray(0, end));
}

/** Reads or skips a number of bytes of a stream. Returns undefined or false if the stream ends earlier. */
function reader(stream: AsyncIterable<Uint8Array>) {
  const chunks = stream[Symbol.asyncIterator]();
  let held: Uint8Array[] = [];
  let size = 0;

  async function more(): Promise<boolean> {
    const { done, value } = await chunks.next();
    if (done) return false;
    held.push(value);
    size += value.length;
    return true;
  }

  async function take(count: number): Promise<Uint8Array | undefined> {
    while (size < count) if (!(await more())) return undefined;
    const [first] = held;
    const all = held.length === 1 && first ? first : Buffer.concat(held);
    held = [all.subarray(count)];
    size = all.length - count;
    return all.subarray(0, count);
  }

  async function skip(count: number): Promise<boolean> {
    let left = count;
    for (;;) {
      const part = Math.min(left, size);
      await take(part);
      left -= part;
      if (left === 0) return true;
      if (!(await more())) return false;
    }
  }

  return { take, skip };
}
