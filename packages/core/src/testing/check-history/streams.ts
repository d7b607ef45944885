import type { Event } from "@skein/protocol";
import type { History, Report, Stream } from "./history.ts";

/** I4, I10 and I11: readers received exactly the log, from the place that they asked for. */
export function checkStreams(history: History, report: Report): void {
  const stored = new Map(history.sessions.map(({ sessionId, events }) => [sessionId, events]));
  for (const stream of history.streams) {
    checkOrder(stream, report);
    const log = stored.get(stream.sessionId);
    if (log) checkContent(stream, log, report);
  }
}

function checkOrder({ reader, sessionId, after, events }: Stream, report: Report): void {
  for (const [index, event] of events.entries()) {
    const expected = after + index + 1;
    if (event.sequence === expected) continue;
    const invariant = index === 0 ? "I11" : "I4";
    const sentence = `${reader} saw event ${event.sequence} of session ${sessionId} where ${expected} was expected.`;
    report(invariant, sentence, { after, event });
    return;
  }
}

function checkContent(stream: Stream, log: readonly Event[], report: Report): void {
  const { reader, sessionId, after, events, complete } = stream;
  for (const event of events) {
    const kept = log[event.sequence - 1];
    // In a simulation most stores return the same object, so the text is compared only if the objects differ.
    if (event === kept || JSON.stringify(event) === JSON.stringify(kept)) continue;
    report("I10", `${reader} saw an event ${event.sequence} of session ${sessionId} that the store does not have.`, {
      seen: event,
      kept,
    });
    return;
  }
  const last = events.at(-1)?.sequence ?? after;
  if (complete && last < log.length)
    report("I11", `${reader} followed session ${sessionId} to the end and got ${last} of ${log.length} events.`, {
      after,
      last,
    });
}
