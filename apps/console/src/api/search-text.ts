import type { Client } from "@skein/client";
import { askSql } from "./sql.ts";

/** A place where the searched words stand. */
export interface TextMatch {
  readonly sessionId: string;
  /** The words with some of what stands around them. */
  readonly excerpt: string;
}

/** Shorter words are in nearly every session. */
export const SHORTEST_SEARCH = 3;
const MOST = 200;

/**
 * Sessions in which something was said, newest first. There is no route for it yet (NEEDS.md): keys that may ask SQL are
 * answered by it, and for all others nothing is found.
 */
export async function searchText(client: Client, text: string, signal?: AbortSignal): Promise<TextMatch[]> {
  const wanted = text.trim().toLowerCase();
  if (wanted.length < SHORTEST_SEARCH) return [];
  const literal = `'${wanted.replaceAll("'", "''")}'`;
  const statement = `SELECT session_id, substr(text, greatest(1, strpos(lower(text), ${literal}) - 16), 140) AS excerpt
FROM all_messages WHERE source = 'skein' AND contains(lower(text), ${literal})
QUALIFY row_number() OVER (PARTITION BY session_id ORDER BY timestamp DESC) = 1
ORDER BY timestamp DESC LIMIT ${MOST}`;
  const { rows } = await askSql(client, statement, signal);
  return rows.map((row) => ({
    sessionId: String(row["session_id"]),
    excerpt: typeof row["excerpt"] === "string" ? row["excerpt"] : "",
  }));
}
