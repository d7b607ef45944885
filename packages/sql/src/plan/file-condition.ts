/**
 * Finds in DuckDB's plan which scanned files a query can need. Each scan must be joined by `place` with rows of
 * `skein.files` that are filtered by session, project or file. If a scan has no such join, all files are read. Only the
 * filters below are understood.
 *
 * Modification times are not used. A file that was last written before some time usually has no later line. But a
 * program may have set the time, the clock may have gone back, or an archive may have rounded the time. The query would
 * then miss rows without an error.
 */
import { literal } from "../database/quote.ts";

interface Node {
  readonly name: string;
  readonly children?: readonly Node[];
  readonly extra_info?: Readonly<Record<string, unknown>>;
}

/**
 * Returns a condition on `skein.files` that is true for every file that the query can need. Returns null if it may need
 * any file.
 */
export function fileCondition(plan: string, sql: string): string | null {
  const scans = (JSON.parse(plan) as readonly Node[]).flatMap((node) => scansOf(node, []));
  if (scans.length === 0 || scans.some((filters) => filters.length === 0)) return null;
  // If a literal is not in the statement, it was misread from the plan. A literal with a quote looks like several
  // literals.
  if (sql.includes("''") || scans.flat().some(({ values }) => values.some((value) => !sql.includes(value))))
    return null;
  const conditions = new Set(scans.map((filters) => filters.map(sqlOf).join(" AND ")));
  return `(${[...conditions].join(") OR (")})`;
}

interface Filter {
  readonly column: string;
  readonly form: keyof typeof FORMS;
  readonly values: readonly string[];
}

const COLUMN = "(session_id|project_path|file)";
const TEXT = "'[^']*'";

/**
 * The filters that are understood. Each has a pattern for the text of the plan, and a condition on the table of files.
 */
const FORMS = {
  equal: [new RegExp(`^${COLUMN}=(${TEXT})$`), (column, [value]) => `${column} = ${value}`],
  // If a filter is "optional", the scan may skip it, because a node above the scan applies the condition.
  in: [
    new RegExp(`^(?:optional: )?${COLUMN} IN \\((${TEXT}(?:, ${TEXT})*)\\)$`),
    (column, values) => `${column} IN (${values.join(", ")})`,
  ],
  contains: [new RegExp(`^contains\\(${COLUMN}, (${TEXT})\\)$`), (column, [value]) => `contains(${column}, ${value})`],
  startsWith: [
    new RegExp(`^(?:starts_with|prefix)\\(${COLUMN}, (${TEXT})\\)$`),
    (column, [value]) => `starts_with(${column}, ${value})`,
  ],
  ilike: [new RegExp(`^\\(${COLUMN} ~~\\* (${TEXT})\\)$`), (column, [value]) => `${column} ILIKE ${value}`],
} as const satisfies Readonly<Record<string, readonly [RegExp, (column: string, values: readonly string[]) => string]>>;

const sqlOf = ({ column, form, values }: Filter): string => FORMS[form][1](column, values.map(literal));

/** Returns the filters of the joins above each scan of files. */
function scansOf(node: Node, above: readonly Filter[]): readonly (readonly Filter[])[] {
  if (/READ_NDJSON/i.test(node.name)) return [above];
  const children = node.children ?? [];
  const isPlaceJoin =
    node.name === "HASH_JOIN" &&
    node.extra_info?.["Join Type"] === "INNER" &&
    node.extra_info["Conditions"] === "place = place";
  const own = isPlaceJoin ? children.flatMap(filtersOf) : [];
  return children.flatMap((child) => scansOf(child, [...above, ...own]));
}

/** Returns the filters of one side of a join, if this side reads only the table of files. */
function filtersOf({ name, children = [], extra_info }: Node): readonly Filter[] {
  const [only, ...others] = children;
  if ((name === "PROJECTION" || name === "FILTER") && only && others.length === 0) return filtersOf(only);
  if (children.length > 0 || !String(extra_info?.["Table"]).endsWith("skein.files")) return [];
  return [extra_info?.["Filters"]].flat().flatMap((text) => {
    for (const [form, [pattern]] of Object.entries(FORMS)) {
      const [, column, list] = pattern.exec(typeof text === "string" ? text : "") ?? [];
      if (column === undefined || list === undefined) continue;
      const values = Array.from(list.matchAll(/'([^']*)'/g), ([, value = ""]) => value);
      return [{ column, form: form as keyof typeof FORMS, values }];
    }
    return [];
  });
}
