/** Finds the value that a prompt or the results of tools have for a property of a JSON schema. */
import { solveSum } from "./solve-sum.ts";
import { isObject, type JsonObject } from "./wire.ts";

/** What an answer without a script is made from: the prompt, and the results of the tool calls that followed it. */
export interface Known {
  readonly prompt: string;
  readonly results: readonly string[];
}

/** The beginning of every text that the simulator makes up. */
export const SIMULATED = "simulated ";
const MAXIMUM_SUMMARY = 200;

/**
 * Finds the value for a property. If neither the results nor the prompt contain a value, a boolean is false, an enum
 * has its first option, and all other types are undefined.
 */
export function findValue({ prompt, results }: Known, name: string, schema: JsonObject): unknown {
  const given = results.map((result) => propertyOf(result, name)).find((value) => fits(value, schema));
  if (given !== undefined) return given;
  if (Array.isArray(schema.enum)) return findOption([...results, prompt], schema.enum);
  const type = typeOf(schema);
  if (type === "boolean") return false;
  if (type === "number" || type === "integer")
    return namedNumber(prompt, name) ?? numbersIn(results.join("\n"))[0] ?? findNumber(prompt, name);
  if (type !== "string") return undefined;
  const named = namedText(prompt, name);
  if (named !== undefined) return named;
  return results.length > 0 ? `${SIMULATED}${name}: ${summaryOf(results)}` : findText(prompt, name);
}

export function typeOf(schema: JsonObject): unknown {
  if (Array.isArray(schema.type)) return schema.type[0] as unknown;
  return schema.type ?? (isObject(schema.properties) ? "object" : "string");
}

/** The property of this name in a result that is a JSON object. */
function propertyOf(result: string, name: string): unknown {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "");
  return Object.entries(objectOf(result)).find(([key]) => plain(key) === plain(name))?.[1];
}

function objectOf(text: string): JsonObject {
  if (!text.trimStart().startsWith("{")) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function fits(value: unknown, schema: JsonObject): boolean {
  if (value === undefined) return false;
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  const type = typeOf(schema);
  return type === "integer" ? Number.isInteger(value) : typeof value === type && !isObject(value);
}

function findOption(texts: readonly string[], options: readonly unknown[]): unknown {
  const said = (text: string) => (option: unknown) => text.toLowerCase().includes(String(option).toLowerCase());
  return texts.map((text) => options.find(said(text))).find((option) => option !== undefined) ?? options[0];
}

/** The results in one line. A JSON object is shown as its names and values. */
function summaryOf(results: readonly string[]): string {
  const said = results.map((result) => {
    const entries = Object.entries(objectOf(result)).filter(([, value]) => !isObject(value) && !Array.isArray(value));
    return entries.length === 0 ? result : entries.map(([key, value]) => `${key} ${String(value)}`).join(", ");
  });
  const line = said.join("; ").replaceAll(/\s+/g, " ").trim();
  return line.length > MAXIMUM_SUMMARY ? `${line.slice(0, MAXIMUM_SUMMARY)}…` : line;
}

/** The text that follows the name of the property in the prompt, as in `number "A17"`, `order A17` or `name: bob`. */
function namedText(prompt: string, name: string): string | undefined {
  const value = /\s*(is\b|=|:)?\s*(?:`([^`]+)`|"([^"]+)"|'([^']+)'|([\w@][\w@./:-]*))/;
  const found = afterName(prompt, name, value);
  if (!found) return undefined;
  const [, sign, ...said] = found;
  const [word, ...quoted] = said.toReversed();
  // A word without quotes or a sign counts only if it looks like a value: A17, Paris, me@example.com. In "the order of
  // John", the word "of" is not the order.
  const isValue = word !== undefined && (sign !== undefined || /[\dA-Z@]/.test(word));
  return quoted.find((text) => text !== undefined) ?? (isValue ? word.replace(/[.:/-]+$/, "") : undefined);
}

function namedNumber(prompt: string, name: string): number | undefined {
  const digits = afterName(prompt, name, /\s*(?:is\b|=|:|of\b)?\s*(-?\d+(?:\.\d+)?)/)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** A match of the pattern directly after the name. For `order_id`, the prompt may also say "order". */
function afterName(prompt: string, name: string, pattern: RegExp): RegExpExecArray | undefined {
  if (name.length < 2) return undefined;
  const words = name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").split(/[^A-Za-z0-9]+/);
  const isShort = words.length > 1 && /^(id|number|name|no)$/i.test(words.at(-1) ?? "");
  for (const said of [words, ...(isShort ? [words.slice(0, -1)] : [])]) {
    const found = new RegExp(String.raw`\b(?:${said.join("[-_ ]?")})\b${pattern.source}`, "i").exec(prompt);
    if (found) return found;
  }
  return undefined;
}

/**
 * Returns a number from the prompt for a property. `b` and similar names get the second number, `sum` and similar names
 * the result of a calculation, and all other names the first number.
 */
function findNumber(prompt: string, name: string): number | undefined {
  const sum = /^(answer|result|sum)$/i.test(name) ? solveSum(prompt) : null;
  return sum === null ? numbersIn(prompt)[/^(b|y|second|right)$/i.test(name) ? 1 : 0] : Number(sum);
}

/** The numbers of a text, without the digits of dates and of names such as A17. */
function numbersIn(text: string): readonly number[] {
  const plain = text.replaceAll(/\b\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?/g, " ");
  return [...plain.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?/g)].map(([digits]) => Number(digits));
}

function findText(prompt: string, name: string): string | undefined {
  const quoted = /`([^`]+)`|"([^"]+)"|'([^']+)'/.exec(prompt);
  const said = quoted?.[1] ?? quoted?.[2] ?? quoted?.[3];
  if (/path|file|dir|folder/i.test(name))
    return /(?:\.{0,2}\/)?[\w-]+(?:\/[\w.-]+)*\.\w+|(?:\/[\w.-]+)+/.exec(prompt)?.[0];
  if (/url|uri|link/i.test(name)) return /https?:\/\/\S+/.exec(prompt)?.[0];
  if (/city|location|place|country|region/i.test(name)) {
    return said ?? /\b(?:in|at|for|of|from)\s+([A-Z][\w-]*(?:\s+[A-Z][\w-]*)*)/.exec(prompt)?.[1];
  }
  if (/expression|formula/i.test(name)) return /[\d(][\d\s+*/().-]*[\d)]/.exec(prompt)?.[0] ?? said;
  if (/command|cmd|script|code/i.test(name)) return said;
  if (/query|question|prompt|text|message|input|search|term|topic|description/i.test(name)) return said ?? prompt;
  return said;
}
