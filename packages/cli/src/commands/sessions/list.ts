import type { SessionQuery, Sessions } from "@skein/core";
import type { Session } from "@skein/protocol";
import { cost } from "../../terminal/amounts.ts";
import { shortTime } from "../../terminal/times.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { first, sessionIdOf, sessionsOf } from "../../terminal/find-session.ts";
import { oneOf } from "../../terminal/option-kinds.ts";
import { sessionCommand, withStore } from "../../terminal/session-command.ts";
import { JSON_OPTION, LIMIT, LIMIT_OPTION, SPAN_OPTIONS } from "../../terminal/shared-options.ts";
import { printTable } from "../../terminal/table.ts";
import { shorten } from "../../terminal/width.ts";

const status = oneOf("pending", "running", "completed", "failed");

export const list = sessionCommand({
  name: "sessions list",
  summary: "List the sessions of a store, the newest first. --since and --until go by when a session was created.",
  options: {
    status: { takes: "STATUS", kind: status, about: `Only those that are ${status.what}` },
    tag: { takes: "TAG", about: "Only those with this tag" },
    "forks-of": { takes: "SESSION", about: "Only forks of this session" },
    "subagents-of": { takes: "SESSION", about: "Only sessions that worked for this one" },
    ...SPAN_OPTIONS,
    limit: LIMIT_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    "skein sessions list",
    "skein sessions list --status running --json",
    "skein sessions list --since 2026-11-01",
  ],
  run: (call) =>
    withStore(call, async ({ sessions }) => {
      const { values, screen } = call;
      const idOf = (word: string | undefined) => (word === undefined ? undefined : sessionIdOf(sessions, word));
      const given = {
        status: values.status,
        tags: values.tag === undefined ? undefined : [values.tag],
        parentSessionId: await idOf(values["forks-of"]),
        subagentOfSessionId: await idOf(values["subagents-of"]),
        createdAfter: values.since?.toISOString(),
        createdBefore: values.until?.toISOString(),
      };
      const query: Omit<SessionQuery, "tenant"> = Object.fromEntries(
        Object.entries(given).filter(([, value]) => value !== undefined),
      );
      const items = await first(values.limit ?? LIMIT, sessionsOf(sessions, query));
      if (values.json) for (const session of items) screen.json(session);
      else if (items.length === 0) screen.note("There is no session.\n");
      else {
        const rows: (readonly string[])[] = [];
        for (const session of items) rows.push(row(session, session.title ?? (await lastPrompt(sessions, session.id))));
        printTable(screen, ["ID", "STATUS", "RUNS", "COST", "UPDATED", "TITLE"], rows);
      }
      return EXIT.completed;
    }),
});

/** What a session without a title is known by. */
async function lastPrompt(sessions: Sessions, id: string): Promise<string> {
  const { items } = await sessions.runs(id, { limit: 1 });
  return items[0]?.user_message ?? "";
}

function row(session: Session, title: string): readonly string[] {
  return [
    session.id,
    session.status === "idle" ? (session.outcome ?? "idle") : session.status,
    String(session.total_runs),
    cost(session.cost_micros, session.unpriced_calls),
    shortTime(new Date(session.updated_at)),
    shorten(title, 60),
  ];
}
