// The expression must contain control characters.
// oxlint-disable-next-line no-control-regex
const special = /[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes markup, control characters and direction marks. */
export function escapeHtml(text: string): string {
  return text.replaceAll(special, (char) => names[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
