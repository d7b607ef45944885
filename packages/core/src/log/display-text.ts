/**
 * Text for a column that people read: characters that a column cannot store (NUL, lone surrogates) are replaced. The log has the
 * exact text.
 */
export function displayText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
