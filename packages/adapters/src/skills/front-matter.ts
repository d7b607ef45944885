/** The fields at the beginning of a SKILL.md, and the text after them. */
export interface FrontMatter {
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string;
}

const KEY = /^([A-Za-z][\w-]*):(?:[ \t]+(.*)|[ \t]*)$/;

/**
 * Reads the part of YAML that skills use: fields of the first level with a plain, quoted or block text. Keeps nested
 * values (`metadata`) as text. Throws if the text cannot be read.
 */
export function readFrontMatter(text: string): FrontMatter {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---")
    throw new Error("It must begin with a line --- and the fields name and description.");
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---");
  if (end === -1) throw new Error("The line --- after its fields is missing.");
  const fields = new Map<string, string>();
  let at = 1;
  while (at < end) {
    const line = lines[at] ?? "";
    at += 1;
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, key, first = ""] = KEY.exec(line) ?? [];
    if (key === undefined) throw new Error(`Line ${at} is not "field: text": ${line.slice(0, 60)}`);
    if (fields.has(key)) throw new Error(`The field "${key}" occurs twice.`);
    const more: string[] = [];
    while (at < end && /^(?:[ \t]|- |$)/.test(lines[at] ?? "")) more.push(lines[at++] ?? "");
    fields.set(key, valueOf(key, first.trim(), more));
  }
  return {
    fields,
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

function valueOf(key: string, first: string, more: readonly string[]): string {
  const rest = more.map((line) => line.trim());
  if (/^[|>][-+]?$/.test(first)) return joined(rest, first.startsWith("|") ? "\n" : " ").trim();
  const text = joined([first, ...rest], " ").trim();
  if (text.startsWith('"')) return quoted(key, text);
  if (text.startsWith("'")) {
    const [, inside] = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(text) ?? [];
    if (inside === undefined) throw new Error(`The quoted text of "${key}" has no closing quote.`);
    return inside.replaceAll("''", "'");
  }
  // In YAML, ": " in a plain text begins another field. Other programs would read such a file differently.
  const isNested = /^[[{]/.test(first);
  if (first !== "" && !isNested && /:(?:\s|$)/.test(text))
    throw new Error(`The text of "${key}" has a colon followed by a space. Put it into quotes.`);
  return text.replace(/\s+#.*$/, "");
}

/** Joins lines to a text. An empty line separates paragraphs. */
function joined(lines: readonly string[], by: string): string {
  return lines.reduce(
    (text, line) => (line === "" ? `${text}\n` : text === "" || text.endsWith("\n") ? text + line : text + by + line),
    "",
  );
}

function quoted(key: string, text: string): string {
  const [, inside] = /^("(?:[^"\\]|\\.)*")(?:\s+#.*)?$/s.exec(text) ?? [];
  try {
    return JSON.parse((inside ?? "").replaceAll("\n", "\\n")) as string;
  } catch {
    throw new Error(`The quoted text of "${key}" does not end, or has an escape that JSON does not know.`);
  }
}
