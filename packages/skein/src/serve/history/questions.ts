import { readFileSync, statSync } from "node:fs";
import {
  type LibraryConfig,
  type SessionSummary,
  type ThreadMarks,
  exportSession,
  getFileHistory,
  getMessagePage,
  getSummary,
  getThreadMarks,
  listSessions,
  readLineAt,
  searchInSession,
  searchSessions,
} from "@skein/history";
import {
  type HistoryMessageQuery,
  type HistoryQuery,
  type HistorySearchQuery,
  type HistorySession,
  type HistoryUsageQuery,
  KnownError,
} from "@skein/protocol";
import { resumeCommand } from "@skein/history/sources";
import type { HistoryName } from "@skein/server";
import type { z } from "zod";
import { historyMessage } from "./history-message.ts";
import type { Method } from "./messages.ts";
import { ofSource } from "./source-filter.ts";
import { type CountedSession, createUsage } from "./usage.ts";
import type { WholeList } from "./whole-list.ts";

/** The most bytes of a transcript whose branches are determined. This needs the whole transcript in memory. */
const WHOLE_BYTES = 64 * 1024 * 1024;
/** The most bytes of a line or of a stored version of a file. A larger answer is rejected. */
const LARGEST_ANSWER = 100 * 1024 * 1024;
const LARGEST_EXPORT = 64 * 1024 * 1024;
/** The number of transcripts whose branches are cached. */
const REMEMBERED = 16;

type Questions = {
  readonly [Name in Method]: (input: readonly unknown[], signal: AbortSignal) => Promise<string | Uint8Array>;
};

/** Creates a function for each method of the history. It returns the body of the HTTP response. */
export function createQuestions(config: LibraryConfig, whole: WholeList): Questions {
  const usage = createUsage(config);
  const marks = createMarks(config);
  const costOf = (summary: SessionSummary): number => usage.ofSession(summary)?.cost_micros ?? 0;
  const orders: Readonly<Record<NonNullable<z.output<typeof HistoryQuery>["sort"]>, Order>> = {
    activity: (one, other) => other.lastActivityAt.getTime() - one.lastActivityAt.getTime(),
    created: (one, other) => other.timestamp.getTime() - one.timestamp.getTime(),
    cost: (one, other) => costOf(other) - costOf(one),
    title: byTitle,
  };

  /** Returns the id of a session, and a configuration that reads only the coding agent that the request names. */
  const named = (session: unknown, signal: AbortSignal) => {
    const { id, source } = session as HistoryName;
    return { id, library: { ...config, signal, ...ofSource(source) } };
  };

  return {
    async list([query], signal) {
      const { limit = 50, cursor, offset, project, from, to, ...choice } = query as z.output<typeof HistoryQuery>;
      const { title, source, sort = "activity" } = choice;
      const skipped = offset ?? offsetIn(cursor);
      if (sort === "cost") await usage.counted();
      const bounds = {
        ...config,
        signal,
        ...(project !== undefined && { workspace: project }),
        ...ofSource(source),
        ...(from !== undefined && { since: new Date(from) }),
        ...(to !== undefined && { until: new Date(to) }),
      };
      const found =
        title === undefined && sort === "activity"
          ? await listSessions({ ...bounds, limit, offset: skipped })
          : chosen(await whole.of(JSON.stringify([project, from, to, source]), bounds), {
              title,
              limit,
              skipped,
              order: orders[sort],
            });
      const { total } = found.pagination;
      const next = skipped + found.data.length;
      return JSON.stringify({
        data: found.data.map((summary) => sessionOf(summary, usage.ofSession(summary))),
        next_cursor: next < total && found.data.length > 0 ? Buffer.from(`o${next}`).toString("base64url") : null,
        total,
      });
    },
    async get([session], signal) {
      const { id, library } = named(session, signal);
      const summary = await one(id, library);
      const found = await marks(summary);
      const { projectPath } = summary;
      return JSON.stringify({
        ...sessionOf(summary, usage.ofSession(summary)),
        branches:
          found?.branches.map(({ atUuid, ways }) => ({
            at: atUuid,
            ways: ways.map(({ uuid, prompt, isActive }) => ({
              id: uuid,
              prompt: prompt?.slice(0, 2000) ?? null,
              is_active: isActive,
            })),
          })) ?? null,
        resume: { directory: projectPath, command: resumeCommand(summary.source, summary.id) },
      });
    },
    async messages([session, query], signal) {
      const { id, library } = named(session, signal);
      const { limit = 100, before, after, agent_id } = query as z.output<typeof HistoryMessageQuery>;
      const page = await getMessagePage(id, {
        ...library,
        limit,
        ...(before !== undefined && { before }),
        ...(after !== undefined && { from: after }),
        ...(agent_id !== undefined && { agentId: agent_id }),
      });
      const found = agent_id === undefined ? await marks(await one(id, library)) : undefined;
      return JSON.stringify({
        data: page.messages.map((message) => historyMessage(message, found)),
        next_before: page.start > 0 ? page.start : null,
        next_after: page.end,
        size_bytes: page.sizeBytes,
        damaged: page.damage.length,
      });
    },
    async line([session, place], signal) {
      const { id, library } = named(session, signal);
      const { offset, agent_id } = place as { offset: number; agent_id?: string };
      const line = await readLineAt(id, {
        ...library,
        offset,
        maxBytes: LARGEST_ANSWER,
        ...(agent_id !== undefined && { agentId: agent_id }),
      });
      if (!line) throw new KnownError("not_found", "No line begins at this position.");
      return line;
    },
    async search([query], signal) {
      const asked = query as z.output<typeof HistorySearchQuery>;
      const { q, limit = 50, offset = 0, project, source, session_id } = asked;
      const bounds = {
        ...config,
        signal,
        limit,
        offset,
        context: 1,
        ...(project !== undefined && { workspace: project }),
        ...ofSource(source),
      };
      const inOne = session_id === undefined ? undefined : await searchInSession(session_id, q, bounds);
      const { data, pagination } = inOne
        ? { data: inOne.slice(offset, offset + limit), pagination: { total: inOne.length, totalIsAtLeast: undefined } }
        : await searchSessions(q, bounds);
      return JSON.stringify({
        data: data.map((match) => ({
          session_id: match.sessionId,
          source: match.source,
          title: match.sessionSummary,
          project_path: match.projectPath,
          message_id: match.messageUuid,
          kind: match.kind,
          tool_name: match.toolName,
          agent_id: match.agentId,
          match: match.match.slice(0, 1000),
          context: match.context.map((line) => line.slice(0, 1000)),
          created_at: match.timestamp.toISOString(),
          offset: match.fileOffset,
        })),
        total: pagination.total,
        is_at_least: pagination.totalIsAtLeast === true,
      });
    },
    usage: ([query], signal) => usage.rows(query as z.output<typeof HistoryUsageQuery>, signal),
    async files([session], signal) {
      const { id, library } = named(session, signal);
      const { files } = await getFileHistory(id, library);
      return JSON.stringify({
        data: files.map(({ path, versions }) => ({
          path,
          versions: versions.map(({ version, messageUuid, backupTime, backupFileName, backupPath }) => ({
            version,
            message_id: messageUuid,
            created_at: backupTime?.toISOString() ?? null,
            is_absent: backupFileName === null,
            is_kept: backupPath !== null,
          })),
        })),
      });
    },
    async file([session, wanted], signal) {
      const { id, library } = named(session, signal);
      const { path, version } = wanted as { path: string; version: number };
      const { files } = await getFileHistory(id, library);
      const entry = files.find((file) => file.path === path);
      const copy = entry?.versions.find((one) => one.version === version && one.backupPath !== null)?.backupPath;
      if (copy === undefined || copy === null)
        throw new KnownError("not_found", `There is no copy of version ${version} of this file.`);
      tooLarge(statSync(copy).size, LARGEST_ANSWER);
      return readFileSync(copy);
    },
    async export([session, format], signal) {
      const { id, library } = named(session, signal);
      tooLarge((await one(id, library)).sizeBytes, LARGEST_EXPORT);
      const text = await exportSession(id, format as "html" | "markdown" | "json", library);
      return Buffer.from(text);
    },
  };
}

function tooLarge(bytes: number, most: number): void {
  if (bytes > most)
    throw new KnownError(
      "too_large",
      `The answer would have ${Math.ceil(bytes / 1e6)} MB; the limit is ${Math.round(most / 1e6)} MB. Use \`skein history\` on the server's machine.`,
    );
}

/** Returns the summary of a session. Rejects an abbreviated id. */
async function one(id: string, config: LibraryConfig): Promise<SessionSummary> {
  const found = await getSummary(id, config);
  if (found.id !== id) throw new KnownError("not_found", "There is no such session.");
  return found;
}

type Order = (one: SessionSummary, other: SessionSummary) => number;

/** Sorts sessions by title from A to Z, like the sessions of a store. Sessions without a title come last. */
function byTitle({ summary: one }: SessionSummary, { summary: other }: SessionSummary): number {
  if (!one || !other) return Number(!one) - Number(!other);
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a < b ? -1 : a > b ? 1 : 0;
}

interface Chosen {
  readonly title: string | undefined;
  readonly limit: number;
  readonly skipped: number;
  readonly order: Order;
}

function chosen(sessions: readonly SessionSummary[], { title, limit, skipped, order }: Chosen) {
  const words = title?.toLowerCase() ?? "";
  const fitting = sessions
    .toSorted(order)
    .filter(
      ({ summary, projectPath, id }) =>
        (summary ?? "").toLowerCase().includes(words) || projectPath.toLowerCase().includes(words) || id === words,
    );
  return { data: fitting.slice(skipped, skipped + limit), pagination: { total: fitting.length } };
}

function offsetIn(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const [, offset] = /^o(\d{1,8})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (offset === undefined) throw new KnownError("invalid", "cursor: This is not a cursor of this list.");
  return Number(offset);
}

function sessionOf(summary: SessionSummary, counted: CountedSession | null): HistorySession {
  return {
    id: summary.id,
    source: summary.source,
    title: summary.summary,
    project_path: summary.projectPath,
    git_branch: summary.gitBranch,
    version: summary.version,
    created_at: summary.timestamp.toISOString(),
    last_activity_at: summary.lastActivityAt.toISOString(),
    message_count: summary.messageCount,
    subagents: [...summary.agentIds],
    size_bytes: summary.sizeBytes,
    cost_micros: counted?.cost_micros ?? null,
    usage: counted?.usage ?? null,
  };
}

/** Determines the branches of transcripts, and caches them until the file changes. */
function createMarks(config: LibraryConfig): (summary: SessionSummary) => Promise<ThreadMarks | undefined> {
  const known = new Map<string, { readonly size: number; readonly marks: ThreadMarks | undefined }>();
  return async ({ id, source, path, sizeBytes }) => {
    const remembered = known.get(path);
    if (remembered?.size === sizeBytes) return remembered.marks;
    const found = await getThreadMarks(id, { ...config, sources: [source], maxBytes: WHOLE_BYTES });
    known.delete(path);
    known.set(path, { size: sizeBytes, marks: found });
    const [oldest] = known.keys();
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
    return found;
  };
}
