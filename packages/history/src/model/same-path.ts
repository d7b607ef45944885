/** The same place, written differently: a slash at the end, Windows' letters and separators, composed characters. */
export function isSamePath(a: string, b: string): boolean {
  return normalise(a) === normalise(b);
}

function normalise(path: string): string {
  const text = path.normalize("NFC");
  const isWindows = /^[A-Za-z]:[\\/]/.test(text) || text.startsWith("\\\\");
  const plain = isWindows ? text.replaceAll("\\", "/").toLowerCase() : text;
  return plain.length > 1 ? plain.replace(/\/+$/, "") : plain;
}
