import { ARROW_STREAM, JSON_LINES } from "@skein/protocol";
import { ApiError, errorAnswer } from "../api-error.ts";
import { type Call, type Handlers, type Raw, TAKEN_OVER } from "../call.ts";
import type { SqlPart } from "../deps.ts";
import { allows } from "../keys.ts";

/** The tenant of whoever started the server. */
const OPERATOR = "default";

/** Questions in SQL. Who answers them, and behind which walls, is the port's matter. */
export const sqlHandlers = {
  async askSql({ body }, call) {
    const { shared, principal, request, reply } = call;
    const { deps, limits, meter } = shared;
    if (!deps.sql) throw new ApiError("sandbox_missing", "This server answers no SQL.");
    const isArrow = request.headers.accept?.includes(ARROW_STREAM) ?? false;
    const giveBack = meter.statement();
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    try {
      const { statementMs: timeMs, statementRows: rows, statementBytes: bytes } = limits;
      const format = isArrow ? "arrow" : "jsonl";
      const { tenant } = principal;
      // Claude Code's files are the operator's own: no tenant but the operator's, and no key but an admin's.
      const history = tenant === OPERATOR && allows(principal, "admin");
      const question = { tenant, statement: body.sql, format, timeMs, rows, bytes, history } as const;
      const parts = deps.sql.ask(question, gone.signal);
      return await (isArrow ? arrowOf(parts) : sendLines(parts, call));
    } finally {
      giveBack();
    }
  },
} satisfies Partial<Handlers>;

/**
 * Sends lines as they come. The first one has the columns and the last one says how it ended: an answer without one was
 * cut. The reader is not waited for, because a process waits behind it; what it may leave unread is limited.
 */
async function sendLines(parts: AsyncGenerator<SqlPart>, { request, reply }: Call): Promise<typeof TAKEN_OVER> {
  const first = await parts.next();
  reply.hijack();
  const { raw } = reply;
  const headers = Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]);
  raw.writeHead(200, { ...Object.fromEntries(headers), "content-type": JSON_LINES });
  const write = (part: SqlPart): void => {
    if (part.kind === "data") raw.write(part.bytes);
    else raw.write(`${JSON.stringify(part.kind === "columns" ? { columns: part.columns } : endOf(part))}\n`);
  };
  try {
    if (!first.done) write(first.value);
    for await (const part of parts) write(part);
  } catch (error) {
    raw.write(`${JSON.stringify(errorAnswer(error, request.id).body)}\n`);
  }
  raw.end();
  return TAKEN_OVER;
}

function endOf({ rows, truncated }: Extract<SqlPart, { kind: "end" }>): object {
  return { end: { rows, truncated } };
}

/** An Arrow stream has no place for how it ended, so that stands in the headers, and the answer begins at its end. */
async function arrowOf(parts: AsyncGenerator<SqlPart>): Promise<Raw> {
  const pieces: Uint8Array[] = [];
  const headers: Record<string, string> = {};
  for await (const part of parts) {
    if (part.kind === "data") pieces.push(part.bytes);
    if (part.kind === "end")
      Object.assign(headers, { "skein-rows": String(part.rows), "skein-truncated": String(part.truncated) });
  }
  return { raw: { type: ARROW_STREAM, payload: Buffer.concat(pieces), headers } };
}
