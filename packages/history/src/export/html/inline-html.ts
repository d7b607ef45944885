/**
 * Shows emphasis, code and links in one line of Markdown. It runs in linear time, because the end of an unclosed mark is
 * searched only once.
 */
import { escapeHtml } from "./escape-html.ts";

const deepest = 8;

export function inlineHtml(text: string): string {
  return spans(text, 0);
}

function spans(text: string, depth: number): string {
  let html = "";
  let plain = 0;
  /** Marks that are not closed in the rest of the text. */
  const unclosed = new Set<string>();
  const flush = (until: number): void => {
    html += escapeHtml(text.slice(plain, until));
  };
  for (let at = 0; at < text.length;) {
    const found = depth < deepest ? spanAt(text, at, depth, unclosed) : undefined;
    if (!found) {
      at += 1;
      continue;
    }
    flush(at);
    html += found.html;
    at = found.next;
    plain = at;
  }
  flush(text.length);
  return html;
}

interface Span {
  readonly html: string;
  readonly next: number;
}

function spanAt(text: string, at: number, depth: number, unclosed: Set<string>): Span | undefined {
  switch (text[at]) {
    case "\\":
      return /[\\`*_{}[\]()#+.!|~>-]/.test(text[at + 1] ?? "")
        ? { html: escapeHtml(text[at + 1] ?? ""), next: at + 2 }
        : undefined;
    case "`":
      return codeAt(text, at, unclosed);
    case "*":
    case "_":
    case "~":
      return emphasisAt(text, at, depth, unclosed);
    case "[":
      return text[at - 1] === "!" ? undefined : linkAt(text, at, depth);
    case "h":
      return addressAt(text, at);
    default:
      return undefined;
  }
}

function codeAt(text: string, at: number, unclosed: Set<string>): Span | undefined {
  const mark = /^`+/.exec(text.slice(at, at + 20))?.[0] ?? "`";
  if (unclosed.has(mark)) return { html: escapeHtml(mark), next: at + mark.length };
  let end = text.indexOf(mark, at + mark.length);
  while (end >= 0 && (text[end + mark.length] === "`" || text[end - 1] === "`"))
    end = text.indexOf(mark, end + mark.length + 1);
  if (end < 0) {
    unclosed.add(mark);
    return { html: escapeHtml(mark), next: at + mark.length };
  }
  return { html: `<code>${escapeHtml(text.slice(at + mark.length, end).trim())}</code>`, next: end + mark.length };
}

const elements: Readonly<Record<string, string>> = {
  "**": "strong",
  __: "strong",
  "*": "em",
  _: "em",
  "~~": "del",
};

function emphasisAt(text: string, at: number, depth: number, unclosed: Set<string>): Span | undefined {
  const char = text[at] ?? "";
  const mark = text[at + 1] === char ? char + char : char;
  const element = elements[mark];
  const first = text[at + mark.length] ?? " ";
  // Inside a name such as snake_case, an underscore is not a mark.
  const isWord = char === "_" && /\w/.test(text[at - 1] ?? "");
  if (element === undefined || /\s/.test(first) || first === char || isWord || unclosed.has(mark)) return undefined;
  const end = text.indexOf(mark, at + mark.length);
  if (end < 0) {
    unclosed.add(mark);
    return undefined;
  }
  const inner = text.slice(at + mark.length, end);
  const isClosed = !/\s$/.test(inner) && !(char === "_" && /\w/.test(text[end + mark.length] ?? ""));
  if (!isClosed) return undefined;
  return { html: `<${element}>${spans(inner, depth + 1)}</${element}>`, next: end + mark.length };
}

const link = /\[((?:[^[\]\\]|\\.){1,500})\]\((https?:\/\/[^\s()<>"]{1,2000})\)/y;

/** Matches a link to a file of the project. Only its text is shown, because the page does not have the file. */
const path = /\[((?:[^[\]\\]|\\.){1,500})\]\([\w./@-]{1,500}(?:#[\w-]{0,100})?(?::\d{1,9})?\)/y;

function linkAt(text: string, at: number, depth: number): Span | undefined {
  link.lastIndex = path.lastIndex = at;
  const found = link.exec(text);
  if (found) return { html: anchor(found[2] ?? "", spans(found[1] ?? "", depth + 1)), next: at + found[0].length };
  const local = path.exec(text);
  return local ? { html: spans(local[1] ?? "", depth + 1), next: at + local[0].length } : undefined;
}

const address = /https?:\/\/[^\s<>"'`()[\]{}|\\]{1,2000}/y;

function addressAt(text: string, at: number): Span | undefined {
  // An address inside a name, a call or an attribute is not a link.
  if (/[\w=("'<]/.test(text[at - 1] ?? "")) return undefined;
  address.lastIndex = at;
  const found = address.exec(text)?.[0].replace(/[.,;:!?*_~]+$/, "");
  return found === undefined ? undefined : { html: anchor(found, escapeHtml(found)), next: at + found.length };
}

/** Makes a link. If a reader opens the link, the target does not learn the address of this page. */
function anchor(href: string, html: string): string {
  return `<a href="${escapeHtml(href)}" rel="noopener noreferrer nofollow">${html}</a>`;
}
