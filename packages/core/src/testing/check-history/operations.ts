import { textOf } from "@skein/protocol";
import type { History, Operation, Report, StoredSession } from "./history.ts";

/** I1 and I2: everything that a client was told is in the store exactly once. */
export function checkOperations(history: History, report: Report): void {
  const stored = new Map(history.sessions.map((session) => [session.sessionId, session]));
  const deletions = history.operations.filter(({ kind, outcome }) => kind === "delete" && outcome !== "refused");
  const maybeDeleted = new Set(deletions.map(({ sessionId }) => sessionId));
  const prompts = countBy(history.sessions.flatMap(promptTexts));
  const titles = countBy(history.sessions.flatMap(creationTitle));

  for (const operation of history.operations) {
    const { kind, outcome, sessionId } = operation;
    const session = sessionId === null ? undefined : stored.get(sessionId);
    if (outcome === "ok" && kind === "delete") {
      if (session) report("I1", `Session ${sessionId} was deleted but still exists.`, { operation });
      continue;
    }
    if (outcome === "ok" && !session && !maybeDeleted.has(sessionId))
      report("I1", `Session ${sessionId} is lost, although its ${kind} was acknowledged.`, { operation });
    if (outcome === "ok" && session && kind !== "create" && kind !== "fork") checkPlace(operation, session, report);
    if (kind !== "prompt" && kind !== "create") continue;
    const count = (kind === "prompt" ? prompts : titles).get(operation.text ?? "") ?? 0;
    if (count > 1) report("I2", `The ${kind} "${operation.text}" is stored ${count} times.`, { operation, count });
    if (outcome === "ok" && session && count === 0)
      report("I1", `The ${kind} "${operation.text}" was acknowledged but is lost.`, { operation });
    if (outcome === "refused" && count > 0)
      report("I2", `The ${kind} "${operation.text}" was rejected but is stored.`, { operation });
  }
}

/** Checks that the log has the client's request at the sequence that the client received. */
function checkPlace(operation: Operation, { events, sessionId }: StoredSession, report: Report): void {
  if (operation.sequence === null) return;
  const event = events.find(({ sequence }) => sequence === operation.sequence);
  const fits =
    operation.kind === "prompt"
      ? event?.event_type === "prompt.accepted" && event.data.message_id === operation.messageId
      : event?.event_type === (operation.kind === "cancel" ? "cancel.requested" : "session.edited");
  if (!fits)
    report("I1", `Event ${operation.sequence} of session ${sessionId} is not the acknowledged ${operation.kind}.`, {
      operation,
      event,
    });
}

function promptTexts({ events }: StoredSession): string[] {
  return events.flatMap((event) => (event.event_type === "prompt.accepted" ? [textOf(event.data.content)] : []));
}

/**
 * Returns the title that the client gave the new session. A fork has no such title, because it gets the title of its
 * parent.
 */
function creationTitle({ events }: StoredSession): string[] {
  const [first] = events;
  return first?.event_type === "session.created" && !first.data.parent ? [first.data.title ?? ""] : [];
}

function countBy(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
