import type { Event } from "@skein/protocol";
import { timeOf } from "@skein/protocol/event-time";
import { cost, tokens } from "../../terminal/amounts.ts";
import { longTime } from "../../terminal/times.ts";
import type { SeenSession } from "../../sessions/session-calls.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { counted } from "../../terminal/counts.ts";
import { messageText } from "../../terminal/message-text.ts";
import { waitsInLine } from "../../terminal/queue-notes.ts";
import { waitLines } from "../../terminal/print-run.ts";
import type { Screen } from "../../terminal/screen.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";
import { printTable } from "../../terminal/table.ts";
import { visibleLine } from "../../terminal/visible-text.ts";
import { shorten } from "../../terminal/width.ts";

export const show = sessionCommand({
  name: "sessions show",
  words: "SESSION",
  summary: "Show a session: its state, its open awaits, and the conversation.",
  options: { events: { about: "The events instead of the conversation" }, json: JSON_OPTION },
  examples: ["skein sessions show 0199c8f1", "skein sessions show 0199c8f1 --events --json"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const session = await sessions.get(id);
      const { screen, values } = call;
      if (values.events) return showEvents(screen, await sessions.events(id), values.json);
      const transcript = await sessions.transcript(id);
      const awaits = await sessions.awaits(id);
      if (values.json) {
        screen.json({ ...session, awaits, transcript });
        return EXIT.completed;
      }
      const [first] = (await sessions.messages(id, { limit: 1 })).items;
      screen.out(sessionSummary(screen, session, typeof first?.content.text === "string" ? first.content.text : null));
      for (const message of transcript) screen.out(messageText(screen.paint.out, message));
      if (awaits.length > 0) screen.out(`\n${waitLines(screen, awaits, values)}`);
      return EXIT.completed;
    }),
});

/** Returns the lines above the conversation. Without a title, the lines begin with the first prompt. */
function sessionSummary(screen: Screen, session: SeenSession, firstPrompt: string | null): string {
  const { bold, dim } = screen.paint.out;
  const { title, status, outcome, total_runs, parent_session_id, subagent_of_session_id } = session;
  const details = [
    `${status}${outcome === null ? "" : `, last run ${outcome}`}`,
    counted(total_runs, "run"),
    session.model,
    tokens(session.usage),
    cost(session.cost_micros, session.unpriced_calls),
    ...(parent_session_id === null ? [] : [`fork of ${parent_session_id}`]),
    ...(subagent_of_session_id === null ? [] : [`works for ${subagent_of_session_id}`]),
  ];
  const name = title ?? firstPrompt;
  const heading = name === null ? "" : `${bold(shorten(visibleLine(name), 80))}\n`;
  const line = waitsInLine(session);
  const place = line === undefined ? "" : `${line}\n`;
  return `${heading}${dim(`${session.id} · ${details.map(visibleLine).join(" · ")}`)}\n${place}`;
}

function showEvents(screen: Screen, events: readonly Event[], json: boolean): number {
  if (json) for (const event of events) screen.json(event);
  else {
    const rows = events.map((event) => [
      String(event.sequence),
      longTime(new Date(timeOf(event))),
      event.event_type,
      shorten(JSON.stringify(event.data), 80),
    ]);
    printTable(screen, ["#", "TIME", "EVENT", "DATA"], rows);
  }
  return EXIT.completed;
}
