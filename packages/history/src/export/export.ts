import type { LibraryConfig } from "../config.ts";
import { getAgentSession } from "../get/get-agent-session.ts";
import { getSession, readSession, type GetSessionOptions } from "../get/get-session.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions } from "../list/sessions.ts";
import type { AgentSession, Session } from "../model/types.ts";
import { createPause } from "../scan/pause.ts";
import { toJson } from "./export-json.ts";
import { redactStrings, toLines } from "./export-lines.ts";
import { toMarkdown } from "./export-markdown.ts";

/**
 * The format `jsonl` has the unchanged lines of the transcripts: first the session's lines, then its subagents' lines.
 */
export type ExportFormat = "json" | "jsonl" | "markdown" | "html";

export interface ExportOptions extends GetSessionOptions {
  /** Whether the subagents' conversations are exported too. Default: false. */
  readonly includeAgents?: boolean;
  /** Applied to every text before it is written, for example to remove secrets. */
  readonly redact?: (text: string) => string;
}

export interface ExportedSession {
  readonly sessionId: string;
  /** A file name that is safe on every system. It is made from the session's id, not from its text. */
  readonly fileName: string;
  readonly content: string;
  /** Only with the format `jsonl`: the lines byte for byte, even if they are not UTF-8. */
  readonly bytes?: Uint8Array;
}

/** Returns the lines of a session. Without `redact`, they are byte for byte the lines of its file. */
export async function exportSessionLines(idOrIndex: number | string, options: ExportOptions = {}): Promise<Uint8Array> {
  return linesOf(await getSession(idOrIndex, options), options);
}

export async function exportSession(
  idOrIndex: number | string,
  format: ExportFormat,
  options: ExportOptions = {},
): Promise<string> {
  const session = await getSession(idOrIndex, options);
  return await write(session, await agentsOf(session, options), format, options);
}

/** Exports the sessions one after the other, so that only one is in memory. */
export async function* exportAllSessions(
  format: ExportFormat,
  options: ExportOptions = {},
): AsyncGenerator<ExportedSession> {
  const pause = createPause(options.signal);
  const order = await withStore(options, async (store) => await orderSessions(options, store));
  const fileName = createFileNames();
  for (const file of order.files) {
    const session = await withStore(
      { ...options, cacheFolder: null },
      async (store) => await readSession(file, order, options, store),
    );
    // The details of an exported session are not needed again.
    order.details.delete(file);
    const exported = { sessionId: session.id, fileName: `${fileName(session.id)}.${extensions[format]}` };
    if (format === "jsonl") {
      const bytes = linesOf(session, options);
      yield { ...exported, content: bytes.toString(), bytes };
    } else yield { ...exported, content: await write(session, await agentsOf(session, options), format, options) };
    await pause();
  }
}

/** Makes file names. If two agents have a session with the same id, the later file name gets a number. */
function createFileNames(): (id: string) => string {
  const used = new Map<string, number>();
  return (id) => {
    const name = safeName(id);
    // Some file systems ignore case.
    const times = (used.get(name.toLowerCase()) ?? 0) + 1;
    used.set(name.toLowerCase(), times);
    return times === 1 ? name : `${name}-${times}`;
  };
}

export const exportSessionToJson = async (idOrIndex: number | string, options?: ExportOptions): Promise<string> =>
  await exportSession(idOrIndex, "json", options);
export const exportSessionToMarkdown = async (idOrIndex: number | string, options?: ExportOptions): Promise<string> =>
  await exportSession(idOrIndex, "markdown", options);
export const exportSessionToHtml = async (idOrIndex: number | string, options?: ExportOptions): Promise<string> =>
  await exportSession(idOrIndex, "html", options);

/** Exports all sessions as one JSON array. For many sessions, use `exportAllSessions`, which needs less memory. */
export async function exportAllSessionsToJson(options: ExportOptions = {}): Promise<string> {
  return `[\n${(await collect("json", options)).map((text) => text.trimEnd()).join(",\n")}\n]\n`;
}

export async function exportAllSessionsToMarkdown(options: ExportOptions = {}): Promise<string> {
  return (await collect("markdown", options)).join("\n---\n\n");
}

export async function exportAllSessionsToHtml(options: ExportOptions = {}): Promise<string> {
  const pages = await collect("html", options);
  const body = (page: string): string => page.slice(page.indexOf("<main>") + 6, page.lastIndexOf("</main>"));
  const [first = ""] = pages;
  return `${first.slice(0, first.indexOf("<main>") + 6)}${pages.map(body).join("<hr>\n")}</main></body></html>\n`;
}

const extensions: Readonly<Record<ExportFormat, string>> = {
  json: "json",
  jsonl: "jsonl",
  markdown: "md",
  html: "html",
};

async function write(
  session: Session,
  agents: readonly AgentSession[],
  format: ExportFormat,
  options: ExportOptions,
): Promise<string> {
  if (format === "jsonl") return linesOf(session, options).toString();
  const { redact } = options;
  const shown = redact ? redactStrings(session, redact) : session;
  const shownAgents = redact ? redactStrings(agents, redact) : agents;
  if (format === "json") return `${toJson(shown, shownAgents)}\n`;
  if (format === "markdown") return toMarkdown(shown, shownAgents);
  // This module is loaded only here, because it loads calendars and prices, which lists and searches do not need.
  const { toHtml } = await import("./export-html.ts");
  return toHtml(shown, shownAgents);
}

async function agentsOf(session: Session, options: ExportOptions): Promise<readonly AgentSession[]> {
  if (!options.includeAgents) return [];
  const found: AgentSession[] = [];
  for (const { agentId } of session.agents) found.push(await getAgentSession(agentId, options));
  return found;
}

async function collect(format: ExportFormat, options: LibraryConfig): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { content } of exportAllSessions(format, options)) texts.push(content);
  return texts;
}

function linesOf({ path, agents }: Session, { includeAgents, redact }: ExportOptions): Buffer {
  return toLines([path, ...(includeAgents ? agents.flatMap((agent) => agent.path ?? []) : [])], redact);
}

function safeName(id: string): string {
  const name = id.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 100);
  return /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(name) || name === "" || name.startsWith("-")
    ? `session_${name}`
    : name;
}
