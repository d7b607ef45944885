/** Text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Texts as a list of SQL. */
export function literals(texts: readonly string[]): string {
  return `[${texts.map(literal).join(", ")}]::VARCHAR[]`;
}

/** A path that DuckDB takes as it is: its readers would take brackets, stars and question marks for a pattern. */
export function plainPath(path: string): string {
  return path.replaceAll(/[[*?]/g, "[$&]");
}
