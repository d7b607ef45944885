/** Returns a text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns texts as an SQL list. */
export function literals(texts: readonly string[]): string {
  return `[${texts.map(literal).join(", ")}]::VARCHAR[]`;
}

/**
 * Returns a path with escaped wildcards, because DuckDB's readers treat brackets, stars and question marks as a
 * pattern.
 */
export function plainPath(path: string): string {
  return path.replaceAll(/[[*?]/g, "[$&]");
}
