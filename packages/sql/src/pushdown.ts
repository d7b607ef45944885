/**
 * Which scanned files a question can need, as far as DuckDB's own plan shows it: a join with `skein.files` on the place,
 * whose rows are filtered to one session, project or file. Only equality, and only where every scan stands under such a
 * join. (Times are not used: a file's own time says nothing certain about the times in its lines.)
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { literal } from "./quote.ts";

interface Node {
  readonly name: string;
  readonly children?: readonly Node[];
  readonly extra_info?: Readonly<Record<string, unknown>>;
}

/** The places to read, or null for all. */
export async function filePlaces(
  connection: DuckDBConnection,
  plan: string,
  sql: string,
): Promise<ReadonlySet<number> | null> {
  const scans = (JSON.parse(plan) as readonly Node[]).flatMap((node) => scansOf(node, []));
  if (scans.length === 0 || scans.some((filters) => filters.length === 0)) return null;
  const where = [...new Set(scans.map((filters) => filters.map(sqlOf).join(" AND ")))];
  // A literal that is not in the statement was not understood.
  if (scans.flat().some(({ value }) => !sql.includes(value))) return null;
  const reader = await connection.runAndReadAll(
    `SELECT place FROM skein.files WHERE place >= 0 AND ((${where.join(") OR (")}))`,
  );
  return new Set(reader.getRows().map(([place]) => Number(place)));
}

interface Filter {
  readonly column: string;
  readonly value: string;
}

const sqlOf = ({ column, value }: Filter): string => `${column} = ${literal(value)}`;

/** For each scan of files, the filters that it stands under. */
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

const EQUAL = /^(session_id|project_path|file)='([^']*)'$/;

/** The filters of a side that is nothing but the table of files. */
function filtersOf({ name, children = [], extra_info }: Node): readonly Filter[] {
  const [only, ...others] = children;
  if (name === "PROJECTION" && only && others.length === 0) return filtersOf(only);
  if (children.length > 0 || !String(extra_info?.["Table"]).endsWith("skein.files")) return [];
  return [extra_info?.["Filters"]].flat().flatMap((text) => {
    const [, column, value] = EQUAL.exec(typeof text === "string" ? text : "") ?? [];
    return column === undefined || value === undefined ? [] : [{ column, value }];
  });
}
