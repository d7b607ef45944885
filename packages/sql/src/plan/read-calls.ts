/**
 * Calls of the table functions of the `agent_data` extension, such as `read_conversations('~/.claude')`.
 *
 * DuckDB's table macros accept neither `path = '…'` nor a missing path, so each call in a statement is replaced by a
 * table before the statement runs. Decision 071 in docs/decisions has the reasons.
 */
import { LITERAL_OR_COMMENT } from "./split-statements.ts";

export type ReadFunction = "read_conversations" | "read_plans" | "read_todos" | "read_history" | "read_stats";

export interface ReadCall {
  readonly name: ReadFunction;
  readonly path: string | undefined;
  readonly source: string | undefined;
  /** The table that replaces the call. */
  readonly table: string;
}

const WORD = /[A-Za-z_][\w.]*/y;
const CALL =
  /(read_conversations|read_plans|read_todos|read_history|read_stats)\s*\(([^()']*(?:'(?:[^']|'')*'[^()']*)*)\)/iy;
const ARGUMENT = /^\s*(?:(path|source)\s*(?::=|=>|=)\s*)?'((?:[^']|'')*)'\s*$/i;

/**
 * Replaces each call in a statement by a table. A call whose arguments are not text literals stays, and DuckDB rejects
 * it as unknown.
 */
export function withoutReadCalls(sql: string): { readonly sql: string; readonly calls: readonly ReadCall[] } {
  const calls: ReadCall[] = [];
  let written = "";
  for (let at = 0; at < sql.length;) {
    const call = callAt(sql, at, calls);
    const taken = call?.length ?? (matchAt(LITERAL_OR_COMMENT, sql, at) ?? matchAt(WORD, sql, at))?.[0].length ?? 1;
    written += call?.table ?? sql.slice(at, at + taken);
    at += taken;
  }
  return { sql: written, calls };
}

/**
 * Whether a statement only installs or loads `agent_data`. Skein ignores these statements, because scripts for the
 * extension begin with them.
 */
export function isLoadOfAgentData(sql: string): boolean {
  return /^\s*((FORCE\s+)?INSTALL\s+agent_data(\s+FROM\s+\w+)?|LOAD\s+(agent_data|'[^']*agent_data[^']*'))\s*$/i.test(
    sql,
  );
}

function callAt(sql: string, at: number, calls: ReadCall[]): { table: string; length: number } | undefined {
  const [whole = "", name = "", inside = ""] = matchAt(CALL, sql, at) ?? [];
  const given = whole === "" ? undefined : argumentsOf(inside);
  if (!given) return undefined;
  const { path, source } = given;
  const lower = name.toLowerCase() as ReadFunction;
  const known = calls.find((each) => each.name === lower && each.path === path && each.source === source);
  const table = known?.table ?? `skein.read_call_${calls.length + 1}`;
  if (!known) calls.push({ name: lower, path, source, table });
  return { table, length: whole.length };
}

function argumentsOf(inside: string): { path: string | undefined; source: string | undefined } | undefined {
  const found: { path: string | undefined; source: string | undefined } = { path: undefined, source: undefined };
  if (inside.trim() === "") return found;
  for (const part of inside.match(/(?:[^,']|'(?:[^']|'')*')+/g) ?? []) {
    const [, name = "path", text] = ARGUMENT.exec(part) ?? [];
    if (text === undefined) return undefined;
    found[name.toLowerCase() as "path" | "source"] = text.replaceAll("''", "'");
  }
  return found;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
