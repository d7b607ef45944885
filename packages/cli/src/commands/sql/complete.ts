import type { Table } from "@skein/sql";

const KEYWORDS = [
  ..."SELECT FROM WHERE GROUP ORDER BY ALL LIMIT HAVING JOIN LEFT USING ON AS AND OR NOT NULL IS IN LIKE ILIKE BETWEEN".split(
    " ",
  ),
  ..."DISTINCT UNION WITH CASE WHEN THEN ELSE END ASC DESC COUNT SUM AVG MIN MAX DESCRIBE SUMMARIZE EXPLAIN COPY TO".split(
    " ",
  ),
];

/**
 * Returns completions of the last word: tables, keywords, and columns of the statement's tables. If the statement has
 * no table, returns the columns of all tables.
 */
export function completions(tables: readonly Table[], statement: string): readonly [found: string[], word: string] {
  const word = /[\w.]*$/.exec(statement)?.[0] ?? "";
  if (word === "") return [[], word];
  const lower = word.toLowerCase();
  const named = tables.filter(({ name }) => new RegExp(`\\b${name.replace(".", "\\.")}\\b`, "i").test(statement));
  const columns = (named.length > 0 ? named : tables).flatMap((table) => table.columns.map(({ name }) => name));
  const prefix = aliasIn(tables, lower);
  const isUpper = /^[A-Z]+$/.test(word);
  const keywords = KEYWORDS.map((keyword) => (isUpper ? keyword : keyword.toLowerCase()));
  const names =
    prefix === "" ? [...tables.map(({ name }) => name), ...columns, ...keywords] : columns.map((name) => prefix + name);
  const found = names.filter((name) => name.toLowerCase().startsWith(lower) && name !== word);
  return [[...new Set(found)].toSorted(), word];
}

/**
 * Returns the alias of a table at the beginning of a word: `m.` of `m.ti` in `claude.messages m WHERE m.ti`. Empty if
 * the word begins with a schema, or has no dot.
 */
function aliasIn(tables: readonly Table[], word: string): string {
  const prefix = /^\w+\./.exec(word)?.[0] ?? "";
  return tables.some(({ name }) => name.startsWith(prefix)) ? "" : prefix;
}
