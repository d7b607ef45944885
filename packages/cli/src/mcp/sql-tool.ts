/**
 * SQL for a model, over past sessions of coding agents and over sessions of Skein.
 *
 * A transcript may contain text that makes a model write a statement, so statements run only in the sandbox.
 * Without a sandbox, the answer says what to install.
 */
import { TABLE_DOCS, type TenantSql } from "@skein/sql/sandbox";
import { z } from "zod";
import { visible } from "../terminal/visible-text.ts";
import type { HistoryTool } from "./history-tools.ts";

/** About 8,000 tokens. */
const MOST_CHARACTERS = 24_000;
const LIMITS = { rows: 1000, bytes: 1024 * 1024, timeMs: 30_000 };

const tables = Object.entries(TABLE_DOCS).map(([name, about]) => `${name.replace(/^main\./, "")}: ${about}`);

/** Creates the SQL tool. `open` is called only for statements, because most clients send no statement. */
export function sqlTool(open: () => Promise<TenantSql>): HistoryTool {
  const input = z.object({ sql: z.string().min(1).max(100_000).describe("One SELECT, in DuckDB's SQL") });
  return {
    name: "sql",
    description: `Answers one SQL statement (DuckDB, read-only, at most ${LIMITS.timeMs / 1000} s) over past sessions of Claude Code (claude.…), of all agents with a column source (history.…) and of Skein, each row as JSON. "DESCRIBE claude.messages" shows the columns of a table. Sum tokens and cost over claude.responses or all_usage. Put json ->> '$.key' into parentheses. Times are UTC.\n${tables.join("\n")}`,
    input,
    async call({ sql }) {
      const question = {
        ...LIMITS,
        tenant: "default",
        statement: String(sql),
        format: "jsonl",
        history: true,
        prompts: true,
      } as const;
      const pieces: Uint8Array[] = [];
      let end = { rows: 0, truncated: false };
      for await (const part of (await open()).ask(question, new AbortController().signal)) {
        if (part.kind === "data") pieces.push(part.bytes);
        if (part.kind === "end") end = part;
      }
      return answerText(Buffer.concat(pieces).toString(), end);
    },
  };
}

/** Returns as many rows as fit, and the number of all rows. */
function answerText(lines: string, { rows, truncated }: { rows: number; truncated: boolean }): string {
  const shown: string[] = [];
  let characters = 0;
  for (const line of lines.split("\n").filter((each) => each !== "")) {
    const row = visible(JSON.stringify((JSON.parse(line) as { row: unknown }).row));
    characters += row.length;
    if (characters > MOST_CHARACTERS) break;
    shown.push(row);
  }
  const all = truncated ? `more than ${rows}` : String(rows);
  const isCut = truncated || shown.length < rows;
  return [
    ...shown,
    isCut
      ? `(${shown.length} of ${all} rows. Ask for fewer or shorter ones: LIMIT, GROUP BY, left(text, 200).)`
      : `(${rows} ${rows === 1 ? "row" : "rows"})`,
  ].join("\n");
}
