import { z } from "zod";
import type { Route } from "./route.ts";

export const JSON_LINES = "application/x-ndjson";
export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** Questions in SQL. */
export const sqlRoutes = {
  askSql: {
    method: "POST",
    path: "/v1/sql",
    scope: "sql",
    summary:
      "One statement of SQL over the tenant's rows, read-only: as JSON lines, or as Arrow where that is accepted",
    body: z.strictObject({ sql: z.string().min(1).max(100_000) }),
    status: 200,
    produces: [JSON_LINES, ARROW_STREAM],
    readOnly: true,
  },
} as const satisfies Record<string, Route>;
