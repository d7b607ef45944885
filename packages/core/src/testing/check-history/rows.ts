import type { Run } from "@skein/protocol";
import { applyChanges, pageOfMessages, pageOfRuns } from "../../memory-store/memory-tables.ts";
import { project } from "../../log/projection.ts";
import type { History, Report, StoredSession } from "./history.ts";

/** I3, I6, I7, I10 and I12 in the rows: each row equals what its log says. */
export function checkRows(history: History, report: Report): void {
  for (const stored of history.sessions) {
    const { sessionId, messages, runs, session } = stored;
    for (const [index, row] of messages.entries())
      if (row.sequence !== index + 1) {
        const sentence = `Session ${sessionId}: message ${row.sequence} is at place ${index + 1}.`;
        report("I3", sentence, { row });
        break;
      }
    const running = runs.filter(({ outcome }) => outcome === null);
    if (running.length > 1)
      report("I6", `Session ${sessionId} has ${running.length} runs in progress.`, {
        runs: running.map(({ id }) => id),
      });
    if ((running[0]?.id ?? null) !== session.run_id)
      report(
        "I7",
        `Session ${sessionId} names run ${session.run_id} as in progress, but its runs name ${running[0]?.id}.`,
        {},
      );
    if (isWhole(stored)) compare(stored, report);
  }
}

/**
 * Whether the sequences of a log are right. If not, no rows can be derived from the log, and `checkLogs` reports the
 * error.
 */
function isWhole({ events }: StoredSession): boolean {
  return events[0]?.event_type === "session.created" && events.every((event, index) => event.sequence === index + 1);
}

/** Checks that the rows of the store equal the rows that are derived from the whole log. */
function compare({ sessionId, events, session, runs, messages }: StoredSession, report: Report): void {
  const tables = applyChanges(undefined, project(events));
  const all = { limit: Number.POSITIVE_INFINITY };
  const pairs = [
    ["session", tables.session, session],
    ["runs", pageOfRuns(tables, all).items.toReversed(), runs],
    ["messages", pageOfMessages(tables, all).items, messages],
  ] as const;
  for (const [name, expected, actual] of pairs)
    if (canonical(expected) !== canonical(actual))
      report(
        moneyDiffers(name, expected, actual) ? "I12" : "I10",
        `Session ${sessionId}: the ${name} differ from the log.`,
        {
          expected,
          actual,
        },
      );
}

function moneyDiffers(name: string, expected: unknown, actual: unknown): boolean {
  if (name === "messages") return false;
  const money = (value: unknown): string =>
    canonical([value].flat().map((row) => [(row as Run).cost_micros, (row as Run).cost_picos]));
  return money(expected) !== money(actual);
}

/** Returns JSON with sorted keys, because a store may return keys in any order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
