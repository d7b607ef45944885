/** Code, output of terminals and differences as HTML. */
import { diffLines, type DiffLine } from "../../diff/diff-lines.ts";
import { escapeHtml } from "./escape-html.ts";

/** Longer code is shown without colours, because colours would make the page several times larger. */
const longestColoured = 50_000;

export function codeHtml(code: string, language = ""): string {
  const html =
    code.length > longestColoured || plainLanguages.has(language) ? escapeHtml(code) : coloured(code, language);
  const label = language === "" ? "" : `<span class="lang">${escapeHtml(language)}</span>`;
  return `<div class="code">${label}<pre>${html}</pre></div>`;
}

const plainLanguages: ReadonlySet<string> = new Set([
  "text",
  "txt",
  "plain",
  "plaintext",
  "output",
  "console",
  "md",
  "markdown",
  "diff",
]);
const hashComments: ReadonlySet<string> = new Set(
  "sh bash zsh shell py python rb ruby yaml yml toml make makefile dockerfile r perl elixir ini conf".split(" "),
);
const dashComments: ReadonlySet<string> = new Set(["sql", "lua", "haskell", "hs", "ada"]);

const keywords: ReadonlySet<string> = new Set(
  (
    "abstract and as async await break case catch class const continue def default del delete do done elif else end enum " +
    "esac except export extends extern false False fi final finally fn for foreach from func function go if impl implements " +
    "import in include instanceof interface is lambda let loop match mod module mut namespace new nil None not null or " +
    "override package pass private protected pub public raise readonly require return satisfies self static struct super " +
    "switch then this throw throws trait true True try type typeof undefined union unsafe use using val var void where while " +
    "with yield SELECT FROM WHERE GROUP ORDER BY HAVING JOIN LEFT RIGHT INNER OUTER ON INSERT INTO VALUES UPDATE SET DELETE " +
    "CREATE TABLE VIEW INDEX DROP ALTER AND OR NOT NULL IS IN AS DISTINCT LIMIT UNION ALL CASE WHEN THEN ELSE END"
  ).split(" "),
);

const rest =
  "(\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`)|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)";
const withHash = new RegExp(`((?<=^|\\s)#[^\\n]*)|${rest}`, "g");
const withDashes = new RegExp(`(--[^\\n]*)|${rest}`, "g");
const withSlashes = new RegExp(`(\\/\\/[^\\n]*|\\/\\*[^]{0,4000}?\\*\\/|(?<=^|\\n)#[^\\n{]*(?=\\n|$))|${rest}`, "g");

/** Colours comments, strings, numbers and words of most languages. An error only gives a wrong colour. */
function coloured(code: string, language: string): string {
  const tokens = hashComments.has(language) ? withHash : dashComments.has(language) ? withDashes : withSlashes;
  let html = "";
  let last = 0;
  for (const found of code.matchAll(tokens)) {
    const [whole, isComment, isText, isNumber] = found;
    const kind = isComment ? "c" : isText ? "s" : isNumber ? "n" : keywords.has(whole) ? "k" : undefined;
    if (kind === undefined) continue;
    html += `${escapeHtml(code.slice(last, found.index))}<span class="${kind}">${escapeHtml(whole)}</span>`;
    last = found.index + whole.length;
  }
  return html + escapeHtml(code.slice(last));
}

/** Shows the output of a command with its colours. */
export function terminalHtml(text: string): string {
  return `<pre class="out">${ansiHtml(text.replaceAll(/\r+\n/g, "\n"))}</pre>`;
}

// The expression must contain the escape character.
// oxlint-disable-next-line no-control-regex
const colourCode = /\u001b\[([\d;]*)m/g;
/** Sequences without a visible effect: clearing a line, setting window titles. */
// oxlint-disable-next-line no-control-regex
const silentCode = /\u001b\[\??[\d;]*[KlhG]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\(B/g;

interface Colours {
  text: number | undefined;
  back: number | undefined;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
}

const plainColours = (): Colours => ({
  text: undefined,
  back: undefined,
  isBold: false,
  isDim: false,
  isItalic: false,
  isUnderlined: false,
});

function ansiHtml(given: string): string {
  if (!given.includes("\u001b[")) return escapeHtml(given);
  const text = given.replaceAll(silentCode, "");
  let colours = plainColours();
  let html = "";
  let last = 0;
  const flush = (until: number): void => {
    const part = escapeHtml(text.slice(last, until));
    const names = classesOf(colours);
    html += part === "" || names === "" ? part : `<span class="${names}">${part}</span>`;
  };
  for (const found of text.matchAll(colourCode)) {
    flush(found.index);
    last = found.index + found[0].length;
    const codes = (found[1] ?? "").split(";").map(Number);
    colours = coloursAfter(colours, codes);
  }
  flush(text.length);
  return html;
}

function coloursAfter(before: Colours, codes: readonly number[]): Colours {
  let now = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) now = plainColours();
    else if (code === 1) now.isBold = true;
    else if (code === 2) now.isDim = true;
    else if (code === 3) now.isItalic = true;
    else if (code === 4) now.isUnderlined = true;
    else if (code === 22) now.isBold = now.isDim = false;
    else if (code === 23) now.isItalic = false;
    else if (code === 24) now.isUnderlined = false;
    else if (code === 39) now.text = undefined;
    else if (code === 49) now.back = undefined;
    else if (code >= 30 && code <= 37) now.text = code - 30;
    else if (code >= 90 && code <= 97) now.text = code - 82;
    else if (code >= 40 && code <= 47) now.back = code - 40;
    else if (code >= 100 && code <= 107) now.back = code - 92;
    else if (code === 38 || code === 48) {
      const isIndexed = codes[at + 1] === 5;
      const colour = isIndexed
        ? nearest256(codes[at + 2] ?? 0)
        : nearest(codes[at + 2] ?? 0, codes[at + 3] ?? 0, codes[at + 4] ?? 0);
      if (code === 38) now.text = colour;
      else now.back = colour;
      at += isIndexed ? 2 : 4;
    }
  }
  return now;
}

function classesOf(colours: Colours): string {
  const names = [
    colours.text === undefined ? "" : `f${colours.text}`,
    colours.back === undefined ? "" : `b${colours.back}`,
    colours.isBold ? "bold" : "",
    colours.isDim ? "dim" : "",
    colours.isItalic ? "italic" : "",
    colours.isUnderlined ? "under" : "",
  ];
  return names.filter((name) => name !== "").join(" ");
}

/** Maps one of 256 terminal colours to the most similar colour of the page, which has 16 colours. */
function nearest256(colour: number): number {
  if (colour < 16) return colour;
  if (colour >= 232) return colour < 244 ? 8 : 7;
  const at = colour - 16;
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  return nearest(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  const limit = most * 0.6;
  const bits = (red > limit ? 1 : 0) + (green > limit ? 2 : 0) + (blue > limit ? 4 : 0);
  if (bits === 7) return most < 100 ? 8 : most < 200 ? 7 : 15;
  return most > 190 ? bits + 8 : bits;
}

/** Shows the removed and added lines between two texts, with some lines around them. */
export function differenceHtml(before: string, after: string): string {
  return diffHtml(withoutFarLines(diffLines(before, after)));
}

const around = 3;

function withoutFarLines(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ kind }, at) => {
    if (kind !== "same") near.fill(1, Math.max(0, at - around), at + around + 1);
  });
  return lines.filter((_, at) => near[at] === 1);
}

export function diffHtml(lines: readonly DiffLine[]): string {
  const marks = { same: [" ", ""], removed: ["-", "del"], added: ["+", "ins"] } as const;
  const html = lines.map(({ kind, text }) => {
    const [mark, name] = marks[kind];
    const line = escapeHtml(`${mark} ${text}`);
    return name === "" ? line : `<span class="${name}">${line}</span>`;
  });
  return `<div class="code"><pre class="diff">${html.join("\n")}</pre></div>`;
}
