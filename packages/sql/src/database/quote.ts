/** A text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Texts as an SQL list. */
export function literals(texts: readonly string[]): string {
  return `[${texts.map(literal).join(", ")}]::VARCHAR[]`;
}

/** A path with its wildcards escaped: DuckDB's readers treat brackets, stars and question marks as a pattern. */
export function plainPath(path: string): string {
  return path.replaceAll(/[[*?]/g, "[$&]");
}
