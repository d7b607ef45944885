import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;

/** Describes a problem of an input in a sentence. Used if the schema has no message for the problem. */
export function plainIssue(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return isMissing(issue)
        ? `Missing. Expected ${a(issue.expected)}.`
        : `Expected ${a(issue.expected)}${Number.isNaN(issue.input) ? "" : `, not ${kindOf(issue.input)}`}.`;
    case "invalid_value":
      return `Expected ${listed(issue.values.map((value) => JSON.stringify(value)))}.`;
    case "too_small":
      return bound(
        issue,
        issue.minimum,
        issue.exact ? "exactly" : issue.inclusive === false ? "more than" : "at least",
      );
    case "too_big":
      return bound(issue, issue.maximum, issue.exact ? "exactly" : issue.inclusive === false ? "less than" : "at most");
    case "invalid_format":
      return FORMATS[issue.format];
    case "not_multiple_of":
      return `Expected a multiple of ${String(issue.divisor)}.`;
    case "invalid_union":
      return unionOf(issue);
    default:
      return undefined;
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "Expected a date such as 2026-11-18.",
  datetime: "Expected a time such as 2026-11-18T12:00:00Z.",
  email: "Expected an e-mail address.",
  uuid: "Expected a UUID.",
  url: "Expected an address (URL).",
  base64: "Expected base64.",
  regex: "The text has a form that is not allowed.",
};

const isMissing = ({ input }: Issue): boolean => input === undefined;

/** A kind of value with its article: `a string`, `an object`. */
function a(kind: string): string {
  const word = WORDS[kind] ?? kind;
  return /^(?:null|undefined|true|false|one )/.test(word) ? word : `${/^[aeio]/.test(word) ? "an" : "a"} ${word}`;
}

const WORDS: Readonly<Record<string, string>> = {
  int: "whole number",
  record: "object",
  boolean: "boolean (true or false)",
};

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return a(typeof value);
}

/** The most values that a sentence lists. */
const MOST_LISTED = 20;

function listed(values: readonly string[]): string {
  if (values.length === 1) return String(values[0]);
  const more = values.length > MOST_LISTED ? " …" : "";
  return `one of ${values.slice(0, MOST_LISTED).join(", ")}${more}`;
}

function bound({ origin }: Issue & { readonly origin: string }, limit: unknown, how: string): string {
  const amount = String(limit);
  const many = amount === "1" ? "" : "s";
  if (origin === "string") return `Expected ${how} ${amount} character${many}.`;
  if (origin === "array" || origin === "set") return `Expected ${how} ${amount} entr${many === "" ? "y" : "ies"}.`;
  if (origin === "object" || origin === "record" || origin === "map") return `Expected ${how} ${amount} key${many}.`;
  return `Expected ${how} ${amount}.`;
}

/**
 * Explains why a value fits no form of a union. If several forms fail for the same reason, the sentence has the reason
 * once.
 */
function unionOf({
  errors,
}: Issue & {
  readonly errors?: readonly (readonly { readonly path: readonly PropertyKey[]; readonly message: string }[])[];
}): string {
  const said = (errors ?? []).flatMap(([first]) => (first ? [placed(first)] : []));
  return said.length === 0 ? "None of the allowed forms fits." : [...new Set(said)].join(" Or: ");
}

function placed({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
