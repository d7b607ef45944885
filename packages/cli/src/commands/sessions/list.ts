import type { SessionQuery } from "@skein/core";
import type { MessageRow } from "@skein/protocol";
import type { SeenSession, SessionCalls } from "../../sessions/session-calls.ts";
import { cost } from "../../terminal/amounts.ts";
import { shortTime } from "../../terminal/times.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { first, messagesOf, sessionIdOf, sessionsOf } from "../../terminal/find-session.ts";
import { oneOf } from "../../terminal/option-kinds.ts";
import { sessionCommand, withSessions } from "../../terminal/session-command.ts";
import { JSON_OPTION, LIMIT, LIMIT_OPTION, SPAN_OPTIONS } from "../../terminal/shared-options.ts";
import { printTable } from "../../terminal/table.ts";
import { shorten } from "../../terminal/width.ts";

/** The values of `--status`, which the column STATUS shows too, and the filter of the store for each value. */
const STATUSES = {
  pending: { status: "pending" },
  running: { activity: "running" },
  awaiting: { activity: "awaiting" },
  completed: { status: "completed" },
  failed: { status: "failed" },
  cancelled: { status: "failed" },
} as const satisfies Record<string, Omit<SessionQuery, "tenant">>;
type Status = keyof typeof STATUSES;

const status = oneOf(...(Object.keys(STATUSES) as Status[]));

export const list = sessionCommand({
  name: "sessions list",
  summary: "List the sessions of a store, the newest first. --since and --until select by the time of creation.",
  options: {
    status: { takes: "STATUS", kind: status, about: `Only sessions that are ${status.what}` },
    title: {
      takes: "TEXT",
      about: "Only sessions with this text in the title, or in the first prompt if the session has no title",
    },
    text: { takes: "TEXT", about: "Only sessions with this text in a prompt, an answer, a tool call or its result" },
    "agent-name": { takes: "NAME", about: "Only sessions of the agent with this name or id" },
    tag: { takes: "TAG", about: "Only sessions with this tag" },
    "forks-of": { takes: "SESSION", about: "Only forks of this session" },
    "subagents-of": { takes: "SESSION", about: "Only sessions of subagents of this session" },
    ...SPAN_OPTIONS,
    limit: LIMIT_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    "skein sessions list",
    "skein sessions list --status running --json",
    "skein sessions list --text 'flaky test' --since 7d",
  ],
  run: (call) =>
    withSessions(call, async ({ sessions }) => {
      const { values, screen } = call;
      const idOf = (word: string | undefined) => (word === undefined ? undefined : sessionIdOf(sessions, word));
      const given = {
        ...(values.status !== undefined && STATUSES[values.status]),
        tags: values.tag === undefined ? undefined : [values.tag],
        parentSessionId: await idOf(values["forks-of"]),
        subagentOfSessionId: await idOf(values["subagents-of"]),
        createdAfter: values.since?.toISOString(),
        createdBefore: values.until?.toISOString(),
      };
      const query: Omit<SessionQuery, "tenant"> = Object.fromEntries(
        Object.entries(given).filter(([, value]) => value !== undefined),
      );
      const wanted = { ...values, agentName: values["agent-name"] };
      const done = screen.progress("Looking through the sessions");
      const found = await first(values.limit ?? LIMIT, chosen(sessions, sessionsOf(sessions, query), wanted)).finally(
        done,
      );
      if (values.json) for (const session of found) screen.json(session);
      else if (found.length === 0) screen.note("There is no session.\n");
      else {
        const rows: (readonly string[])[] = [];
        for (const session of found)
          rows.push(row(session, await titleOf(sessions, session), await placeOf(sessions, session)));
        printTable(screen, ["ID", "STATUS", "RUNS", "COST", "CREATED", "TITLE"], rows);
      }
      return EXIT.completed;
    }),
});

interface Wanted {
  readonly status: Status | undefined;
  readonly title: string | undefined;
  readonly text: string | undefined;
  readonly agentName: string | undefined;
}

/** Filters sessions by the options that the store does not support. */
async function* chosen(
  sessions: SessionCalls,
  all: AsyncIterable<SeenSession>,
  { status: word, title, text, agentName }: Wanted,
): AsyncGenerator<SeenSession> {
  for await (const session of all) {
    if (word !== undefined && statusOf(session) !== word) continue;
    if (title !== undefined && !has(await titleOf(sessions, session), title)) continue;
    if (agentName !== undefined && !(await isOfAgent(sessions, session, agentName))) continue;
    if (text !== undefined && !(await says(sessions, session.id, text))) continue;
    yield session;
  }
}

function has(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

async function isOfAgent(sessions: SessionCalls, { id, agent_id }: SeenSession, nameOrId: string): Promise<boolean> {
  if (agent_id === nameOrId.toLowerCase()) return true;
  const [created] = await sessions.events(id, { limit: 1 });
  return created?.event_type === "session.created" && created.data.agent.name === nameOrId;
}

async function says(sessions: SessionCalls, id: string, text: string): Promise<boolean> {
  for await (const message of messagesOf(sessions, id)) if (has(textOf(message), text)) return true;
  return false;
}

/** Returns the title of a session. Without a title, returns the first prompt. */
async function titleOf(sessions: SessionCalls, { id, title }: SeenSession): Promise<string> {
  if (title !== null) return title;
  const [message] = (await sessions.messages(id, { limit: 1 })).items;
  return message ? textOf(message) : "";
}

/** Returns the text of a message. For a tool call or its result, returns the whole content. */
function textOf({ content }: MessageRow): string {
  const { text } = content;
  return typeof text === "string" ? text : JSON.stringify(content);
}

function statusOf({ status: now, outcome }: SeenSession): Status {
  return now === "idle" ? (outcome ?? "pending") : now;
}

/** Returns the queue position of a session whose prompt waits. Undefined for other sessions. */
async function placeOf(sessions: SessionCalls, { id, status: now }: SeenSession): Promise<number | undefined> {
  return now === "awaiting" ? undefined : (await sessions.get(id)).queued?.place;
}

function row(session: SeenSession, title: string, place: number | undefined): readonly string[] {
  return [
    session.id,
    place === undefined ? statusOf(session) : `queued (${place})`,
    String(session.total_runs),
    cost(session.cost_micros, session.unpriced_calls),
    shortTime(new Date(session.created_at)),
    shorten(title, 60),
  ];
}
