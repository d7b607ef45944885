/** Compares paths. A trailing slash, Unicode composition and, on Windows, case and separators make no difference. */
export function isSamePath(a: string, b: string): boolean {
  return normalise(a) === normalise(b);
}

function normalise(path: string): string {
  const text = path.normalize("NFC");
  const isWindows = /^[A-Za-z]:[\\/]/.test(text) || text.startsWith("\\\\");
  const plain = isWindows ? text.replaceAll("\\", "/").toLowerCase() : text;
  return plain.length > 1 ? plain.replace(/\/+$/, "") : plain;
}
