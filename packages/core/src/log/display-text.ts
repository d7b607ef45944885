/** Text for a column that people read: what a column cannot hold (NUL, lone surrogates) is replaced. The log has the exact text. */
export function displayText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
