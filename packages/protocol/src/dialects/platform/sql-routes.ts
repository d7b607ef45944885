import { z } from "zod";
import type { Route } from "./route.ts";

export const JSON_LINES = "application/x-ndjson";
export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** A table that statements can read. */
const SqlTable = z.object({
  name: z.string(),
  about: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string(), about: z.string() })),
});
export type SqlTable = z.infer<typeof SqlTable>;

/** An example: a question, and the statement that answers it. */
const SqlExample = z.object({ name: z.string(), question: z.string(), sql: z.string() });
export type SqlExample = z.infer<typeof SqlExample>;

/** The routes for SQL statements. */
export const sqlRoutes = {
  askSql: {
    method: "POST",
    path: "/v1/sql",
    scope: "sql",
    summary:
      "Run one read-only SQL statement over the tenant's rows. Returns JSON lines, or Arrow if the client accepts it",
    body: z.strictObject({ sql: z.string().min(1).max(100_000) }),
    status: 200,
    produces: [JSON_LINES, ARROW_STREAM],
    readOnly: true,
  },
  getSqlSchema: {
    method: "GET",
    path: "/v1/sql/schema",
    scope: "sql",
    summary: "List the tables that SQL statements can read, with the meanings of their columns",
    status: 200,
    response: z.object({ data: z.array(SqlTable) }),
  },
  listSqlExamples: {
    method: "GET",
    path: "/v1/sql/examples",
    scope: "sql",
    summary: "List example questions with their SQL statements",
    status: 200,
    response: z.object({ data: z.array(SqlExample) }),
  },
} as const satisfies Record<string, Route>;
