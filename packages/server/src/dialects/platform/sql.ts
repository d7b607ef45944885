import { ARROW_STREAM, JSON_LINES } from "@skein/protocol";
import { ApiError, errorAnswer } from "../../http/api-error.ts";
import { type RequestContext, type Handlers, TAKEN_OVER } from "../../request-context.ts";
import type { SqlPart } from "../../deps.ts";
import { OPERATOR, type Principal, allows, seesPrompts } from "../../keys.ts";

/** Routes for SQL statements. The SQL port runs the statements in a separate sandbox. */
export const sqlHandlers = {
  async askSql({ body }, call) {
    const { shared, principal, request, reply } = call;
    const { deps, limits, places } = shared;
    if (!deps.sql) throw new ApiError("sandbox_missing", "This server was started without SQL.");
    const isArrow = request.headers.accept?.includes(ARROW_STREAM) ?? false;
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const giveBack = await places.statement(principal.tenant, gone.signal);
    try {
      const { statementMs: timeMs, statementRows: rows, statementBytes: bytes } = limits;
      const format = isArrow ? "arrow" : "jsonl";
      const { tenant } = principal;
      const history = mayAskHistory(principal);
      const prompts = seesPrompts(principal);
      const question = { tenant, statement: body.sql, format, timeMs, rows, bytes, history, prompts } as const;
      const parts = deps.sql.ask(question, gone.signal);
      return await (isArrow ? sendArrow(parts, call) : sendLines(parts, call));
    } finally {
      giveBack();
    }
  },
  async getSqlSchema(_, { shared, principal, reply }) {
    const { sql } = shared.deps;
    if (!sql?.tables) throw new ApiError("sandbox_missing", "This server was started without SQL.");
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const giveBack = await shared.places.statement(principal.tenant, gone.signal);
    try {
      const tables = await sql.tables({ tenant: principal.tenant, timeMs: shared.limits.statementMs }, gone.signal);
      return { data: tables.map((table) => ({ ...table, columns: [...table.columns] })) };
    } finally {
      giveBack();
    }
  },
  async listSqlExamples(_, { shared }) {
    return { data: [...(shared.deps.sql?.examples?.() ?? [])] };
  },
} satisfies Partial<Handlers>;

/**
 * The files of coding agents belong to the operator. In SQL, only admin keys of the operator's tenant may read them.
 */
export function mayAskHistory(principal: Principal): boolean {
  return principal.tenant === OPERATOR && allows(principal, "admin");
}

/**
 * Sends lines as they arrive. The first line has the columns. The last line tells how the statement ended, and a
 * response without this line is incomplete. The process of a statement does not wait for a slow reader, so the number
 * of unread bytes is limited.
 */
async function sendLines(
  parts: AsyncGenerator<SqlPart>,
  { request, reply }: RequestContext,
): Promise<typeof TAKEN_OVER> {
  const first = await parts.next();
  const raw = begin(reply, JSON_LINES, first.value);
  const write = (part: SqlPart): void => {
    if (part.kind === "data") raw.write(part.bytes);
    else raw.write(`${JSON.stringify(part.kind === "columns" ? columnsOf(part) : endOf(part))}\n`);
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

function columnsOf({ columns, notice }: Extract<SqlPart, { kind: "columns" }>): object {
  return { columns, ...(notice !== undefined && { notice }) };
}

function endOf({ rows, truncated }: Extract<SqlPart, { kind: "end" }>): object {
  return { end: { rows, truncated } };
}

/**
 * Sends Arrow batches as they arrive. The last batch tells how the statement ended. After an error the connection is
 * cut.
 */
async function sendArrow(parts: AsyncGenerator<SqlPart>, { reply }: RequestContext): Promise<typeof TAKEN_OVER> {
  const first = await parts.next();
  const raw = begin(reply, ARROW_STREAM, first.value);
  const write = (part: SqlPart): void => {
    if (part.kind === "data") raw.write(part.bytes);
  };
  try {
    if (!first.done) write(first.value);
    for await (const part of parts) write(part);
    raw.end();
  } catch {
    raw.destroy();
  }
  return TAKEN_OVER;
}

/** Begins the response. Sends a notice also as a header, because an Arrow stream cannot contain a notice. */
function begin(
  reply: RequestContext["reply"],
  type: string,
  first: SqlPart | undefined,
): RequestContext["reply"]["raw"] {
  reply.hijack();
  const headers = Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]);
  const notice = first?.kind === "columns" && first.notice !== undefined ? { "x-skein-notice": first.notice } : {};
  return reply.raw.writeHead(200, { ...Object.fromEntries(headers), ...notice, "content-type": type });
}
