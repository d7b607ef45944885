import { RE2JS } from "re2js";
import { QueryError } from "../errors.ts";
import { literalOf, type Literal } from "./literal.ts";
import { requiredLiteral } from "./required-literal.ts";

/** A parsed search text. Every term must occur in the same line of a transcript. */
export interface Query {
  readonly terms: readonly Term[];
  /** Texts that every matching line contains. Only lines with the longest of these texts are parsed. */
  readonly literals: readonly Literal[];
  /** Texts in lower case that every matching line contains, for the index. */
  readonly indexed: readonly string[];
}

interface Term {
  /** All matches of the term in a text. */
  find(text: string): readonly Span[];
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

const longestPattern = 1000;
const longestQuery = 10_000;

/** Parses a search text with words (`fix parser`), phrases (`"fix the parser"`) and patterns (`/pars(er|ing)/`). */
export function parseQuery(text: string): Query {
  if (text.length > longestQuery) throw new QueryError(`The search text is longer than ${longestQuery} characters.`);
  const terms: Term[] = [];
  const literals: Literal[] = [];
  const indexed: string[] = [];
  // A pattern ends at a slash before a space or the end, so that slashes inside it need no escaping.
  const parts = text.matchAll(/"([^"]*)"|\/((?:\\.|[^\\])+?)\/([a-z]*)(?=\s|$)|(\S+)/gs);
  for (const [, phrase, pattern, flags, word] of parts) {
    if (pattern !== undefined) {
      terms.push(patternTerm(pattern, flags ?? ""));
      const found = literalsOf(requiredLiteral(pattern));
      literals.push(...found);
      indexed.push(...found.map(({ text: part }) => part));
      continue;
    }
    if (word?.startsWith('"'))
      throw new QueryError(
        `The phrase ${text.slice(text.lastIndexOf('"'))} has no closing quote. To search for a quote, use a pattern: /"/`,
      );
    const words = (phrase ?? word ?? "").split(/\s+/).filter((part) => part !== "");
    if (words.length === 0) continue;
    terms.push(words.length === 1 ? wordTerm(words[0] ?? "") : phraseTerm(words));
    const found = words.flatMap(literalsOf);
    literals.push(...found);
    // A word is compared in lower case. A phrase is compared by a regular expression, which treats the case of some
    // letters differently. So only the literals of a phrase are looked up in the index.
    if (words.length === 1) indexed.push((words[0] ?? "").toLowerCase());
    else indexed.push(...found.map(({ text: part }) => part));
  }
  return { terms, literals, indexed };
}

function literalsOf(text: string | undefined): readonly Literal[] {
  const literal = text === undefined ? undefined : literalOf(text);
  return literal ? [literal] : [];
}

function wordTerm(word: string): Term {
  const wanted = word.toLowerCase();
  const careful = new RegExp(escape(word), "giu");
  return {
    find(text) {
      const lower = text.toLowerCase();
      // A few letters change their length with their case, which would make the positions in `lower` wrong.
      if (lower.length !== text.length) return spansOf(text, careful);
      const spans: Span[] = [];
      for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
        spans.push({ start: at, end: at + wanted.length });
      }
      return spans;
    },
  };
}

/** Matches the words of a phrase with any white space between them. The expression runs in linear time. */
function phraseTerm(words: readonly string[]): Term {
  const pattern = new RegExp(words.map(escape).join("\\s{1,100}"), "giu");
  return { find: (text) => spansOf(text, pattern) };
}

function spansOf(text: string, pattern: RegExp): readonly Span[] {
  return [...text.matchAll(pattern)].map((match) => ({ start: match.index, end: match.index + match[0].length }));
}

/** Compiles a pattern. It runs in linear time, on an engine without back-references and look-around. */
function patternTerm(pattern: string, flags: string): Term {
  if (pattern.length > longestPattern) throw new QueryError(`The pattern is longer than ${longestPattern} characters.`);
  if (/[^ims]/.test(flags)) throw new QueryError(`A pattern may have the flags i, m and s, not ${flags}.`);
  let compiled: RE2JS;
  try {
    const dotAll = flags.includes("s") ? RE2JS.DOTALL : 0;
    const anyCase = flags.includes("i") || !hasCapital(pattern) ? RE2JS.CASE_INSENSITIVE : 0;
    // With MULTILINE, ^ and $ match at the beginning and end of every line.
    compiled = RE2JS.compile(pattern, anyCase | RE2JS.MULTILINE | dotAll);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new QueryError(`The pattern is not valid: ${reason.slice(0, 200)}`);
  }
  return {
    find(text) {
      const spans: Span[] = [];
      const matcher = compiled.matcher(text);
      while (matcher.find()) {
        if (matcher.end() > matcher.start()) spans.push({ start: matcher.start(), end: matcher.end() });
        if (spans.length === 10_000) break;
      }
      return spans;
    },
  };
}

/** Whether a pattern has a capital letter, even in `[A-Z]`. If so, the pattern is case-sensitive. */
function hasCapital(pattern: string): boolean {
  return /\p{Lu}/u.test(pattern.replaceAll(/\\[pP]\{[^}]*\}|\\./g, ""));
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
