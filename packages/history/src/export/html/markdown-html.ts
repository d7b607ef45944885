/**
 * Turns Markdown into HTML: headings, lists, quotes, tables, code, emphasis and links to web pages. All text is escaped.
 * Raw HTML, images and other links are shown as text. Line breaks are kept, because prompts have line breaks.
 */
import { codeHtml } from "./code-html.ts";
import { inlineHtml } from "./inline-html.ts";

const deepest = 6;

export function markdownHtml(text: string): string {
  return blocksHtml(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

function blocksHtml(lines: readonly string[], depth: number): string {
  const html: string[] = [];
  for (let at = 0; at < lines.length;) {
    const taken = blockAt(lines, at, depth);
    html.push(taken.html);
    at = taken.next;
  }
  return html.filter((part) => part !== "").join("\n");
}

interface Taken {
  readonly html: string;
  /** The first line after the block. */
  readonly next: number;
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const quote = /^ {0,3}> ?/;
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const separator = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

function blockAt(lines: readonly string[], at: number, depth: number): Taken {
  const line = lines[at] ?? "";
  if (line.trim() === "") return { html: "", next: at + 1 };
  if (fence.test(line)) return fencedAt(lines, at);
  const title = heading.exec(line);
  if (title) {
    // The headings outside the Markdown are h1 to h3.
    const level = Math.min(6, (title[1]?.length ?? 1) + 3);
    return { html: `<h${level}>${inlineHtml(title[2] ?? "")}</h${level}>`, next: at + 1 };
  }
  if (rule.test(line)) return { html: "<hr>", next: at + 1 };
  if (depth < deepest && quote.test(line)) return quoteAt(lines, at, depth);
  if (depth < deepest && item.test(line)) return listAt(lines, at, depth);
  if (line.includes("|") && separator.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-"))
    return tableAt(lines, at);
  return paragraphAt(lines, at);
}

function fencedAt(lines: readonly string[], at: number): Taken {
  const [, mark = "```", language = ""] = fence.exec(lines[at] ?? "") ?? [];
  let end = at + 1;
  while (end < lines.length && !closes(lines[end] ?? "", mark)) end += 1;
  return { html: codeHtml(lines.slice(at + 1, end).join("\n"), language), next: end + 1 };
}

function closes(line: string, mark: string): boolean {
  const text = line.trim();
  return text.startsWith(mark) && text === (mark[0] ?? "`").repeat(text.length);
}

function quoteAt(lines: readonly string[], at: number, depth: number): Taken {
  let end = at;
  while (end < lines.length && quote.test(lines[end] ?? "")) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(quote, ""));
  return { html: `<blockquote>${blocksHtml(inner, depth + 1)}</blockquote>`, next: end };
}

function listAt(lines: readonly string[], at: number, depth: number): Taken {
  const [, indent = "", mark = "-"] = item.exec(lines[at] ?? "") ?? [];
  const isOrdered = /\d/.test(mark);
  const items: string[][] = [];
  let end = at;
  while (end < lines.length) {
    const line = lines[end] ?? "";
    const own = item.exec(line);
    const isItem = own !== null && (own[1] ?? "").length <= indent.length + 1;
    if (isItem && /\d/.test(own[2] ?? "") !== isOrdered) break;
    if (isItem) items.push([own[3] ?? ""]);
    else if (line.trim() === "") {
      // A blank line belongs to the list if the next line is indented or another item.
      const next = lines[end + 1] ?? "";
      if (!/^\s{2,}\S/.test(next) && !(item.exec(next) && /\d/.test(next) === isOrdered)) break;
      items.at(-1)?.push("");
    } else if (/^\s{2,}/.test(line) || !isBlockStart(line)) items.at(-1)?.push(dedent(line, indent.length + 2));
    else break;
    end += 1;
  }
  const html = items.map((inner) => `<li>${itemHtml(inner, depth)}</li>`).join("");
  const start = isOrdered && mark.slice(0, -1) !== "1" ? ` start="${Number.parseInt(mark, 10)}"` : "";
  return { html: isOrdered ? `<ol${start}>${html}</ol>` : `<ul>${html}</ul>`, next: Math.max(end, at + 1) };
}

function itemHtml([first = "", ...rest]: readonly string[], depth: number): string {
  const box = /^\[([ xX])\]\s+/.exec(first);
  const text = box ? `${box[1] === " " ? "☐" : "☑"} ${first.slice(box[0].length)}` : first;
  const more = rest.some((line) => line.trim() !== "") ? blocksHtml(rest, depth + 1) : "";
  // An item that begins with a block, such as code, is parsed as a whole.
  if (isBlockStart(text)) return blocksHtml([text, ...rest], depth + 1);
  return more === "" ? inlineHtml(text) : `${inlineHtml(text)}\n${more}`;
}

function isBlockStart(line: string): boolean {
  return line.trim() === "" || fence.test(line) || heading.test(line) || quote.test(line) || item.test(line);
}

function dedent(line: string, columns: number): string {
  const space = /^\s*/.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(space, columns));
}

function tableAt(lines: readonly string[], at: number): Taken {
  const head = cellsOf(lines[at] ?? "");
  const alignments = cellsOf(lines[at + 1] ?? "");
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|") && (lines[end] ?? "").trim() !== "") end += 1;
  const right = alignments.map((cell) => cell.endsWith(":"));
  const row = (cells: readonly string[], name: string): string => {
    const html = head.map((_, column) => {
      const align = right[column] ? ' class="right"' : "";
      return `<${name}${align}>${inlineHtml(cells[column] ?? "")}</${name}>`;
    });
    return `<tr>${html.join("")}</tr>`;
  };
  const rows = lines.slice(at + 2, end).map((line) => row(cellsOf(line), "td"));
  return {
    html: `<div class="scroll"><table class="grid">${[row(head, "th"), ...rows].join("")}</table></div>`,
    next: end,
  };
}

function cellsOf(line: string): readonly string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraphAt(lines: readonly string[], at: number): Taken {
  let end = at + 1;
  while (end < lines.length && !isBlockStart(lines[end] ?? "") && !rule.test(lines[end] ?? "")) end += 1;
  return { html: `<p>${lines.slice(at, end).map(inlineHtml).join("<br>")}</p>`, next: end };
}
