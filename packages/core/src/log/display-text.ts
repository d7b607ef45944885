/**
 * Replaces the characters that a database column cannot store: NUL and lone surrogates. The log keeps the exact text.
 */
export function displayText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
