import { type Content, type Event, type Message, blocksOf, isKnownError, isToolUse } from "@skein/protocol";
import { foldAll } from "../../log/fold.ts";
import type { SessionState } from "../../log/state.ts";
import type { History, Report, StoredSession } from "./history.ts";

type Said = Omit<Message, "id">;

/** I9 and I14: the messages for the model are well formed, and a fork begins with the messages of its parent. */
export function checkTranscripts(history: History, report: Report): void {
  const stored = new Map(history.sessions.map((session) => [session.sessionId, session]));
  for (const session of history.sessions) {
    const state = folded(session, session.events, report);
    if (!state) continue;
    const broken = brokenPair(state.transcript, state.run !== null);
    if (broken) report("I9", `Session ${session.sessionId}: ${broken}`, { transcript: state.transcript });
    const { parent } = state;
    const from = parent && stored.get(parent.session_id);
    if (from) checkFork(session, from, parent.sequence, report);
  }
  for (const { sessionId, runId, step, messages } of history.modelCalls ?? []) {
    const broken = brokenPair(messages, false);
    if (broken) report("I9", `Session ${sessionId}: the model was shown this in step ${step}: ${broken}`, { runId });
  }
}

function folded(session: StoredSession, events: readonly Event[], report: Report): SessionState | undefined {
  try {
    return foldAll(session.sessionId, events);
  } catch (error) {
    if (!isKnownError(error)) throw error;
    report("I3", `Session ${session.sessionId} cannot be folded: ${error.message}`, {});
    return undefined;
  }
}

/** Finds the first tool call without exactly one result in the next message, or the first result without its call. */
function brokenPair(messages: readonly Said[], lastMayBeOpen: boolean): string | undefined {
  let asked: readonly string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const results = resultIds(content).toSorted();
    if (results.join() !== asked.toSorted().join())
      return `message ${index + 1} answers [${results.join(", ")}] where [${asked.join(", ")}] was asked.`;
    asked =
      role === "assistant"
        ? blocksOf(content)
            .filter(isToolUse)
            .map(({ id }) => id)
        : [];
  }
  return asked.length > 0 && !lastMayBeOpen ? `the calls [${asked.join(", ")}] have no result.` : undefined;
}

function resultIds(content: Content): string[] {
  return blocksOf(content)
    .filter(({ type }) => type === "tool_result")
    .map((block) => String(block["tool_use_id"]));
}

function checkFork(fork: StoredSession, parent: StoredSession, sequence: number, report: Report): void {
  const before = folded(parent, parent.events.slice(0, sequence), report);
  if (!before) return;
  const copies = fork.events.flatMap((event): Said[] =>
    event.event_type === "message.copied" ? [{ role: event.data.role, content: event.data.content }] : [],
  );
  const differs = copies.findIndex((copy, index) => !same(copy, before.transcript[index]));
  const closes = (copy: Said | undefined): boolean =>
    copy?.role === "user" && blocksOf(copy.content).every(({ type }) => type === "tool_result");
  const onlyCloses = differs > 0 && differs === copies.length - 1 && closes(copies[differs]);
  if (differs !== -1 && !onlyCloses)
    report(
      "I14",
      `Fork ${fork.sessionId} does not begin like its parent ${parent.sessionId}: message ${differs + 1} differs.`,
      {
        copy: copies[differs],
        original: before.transcript[differs],
      },
    );
}

function same(copy: Said, original: Said | undefined): boolean {
  return copy.role === original?.role && JSON.stringify(copy.content) === JSON.stringify(original.content);
}
