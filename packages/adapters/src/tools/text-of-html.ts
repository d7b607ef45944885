const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

/** The text of a page without its markup. Every pass over the page takes linear time. */
export function textOfHtml(html: string): string {
  let text = html;
  for (const name of ["script", "style", "noscript", "svg", "template"]) text = withoutElement(text, name);
  return text
    .replaceAll(/<!--[^]*?(?:-->|$)/g, "")
    .replaceAll(
      /<(?:\/?(?:p|div|section|article|li|ul|ol|tr|table|h[1-6]|header|footer|pre|blockquote)|br)\b[^<>]*>/gi,
      "\n",
    )
    .replaceAll(/<[^<>]*>/g, "")
    .replaceAll(/&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});/gi, (whole, name: string) => entity(name) ?? whole)
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n(?: ?\n)+/g, "\n\n")
    .trim();
}

/** Removes elements of this name with their content. An element without an end tag removes the rest of the page. */
function withoutElement(html: string, name: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const start = lower.indexOf(`<${name}`, from);
    if (start < 0) return parts.join("") + html.slice(from);
    parts.push(html.slice(from, start));
    const end = lower.indexOf(`</${name}`, start);
    if (end < 0) return parts.join("");
    from = lower.indexOf(">", end) + 1 || html.length;
  }
}

function entity(name: string): string | undefined {
  if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()];
  const hex = name[1] === "x" || name[1] === "X";
  const code = Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10);
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : undefined;
}
