import { type SessionState, emptyState, fold } from "@skein/core";
import { type Event, isKnownError } from "@skein/protocol";
import { actionsOf } from "./actions.ts";

/**
 * The data of a log that the documents of the agent tables need in addition to its projections (the rows that are
 * derived from its events).
 */
export interface DocumentState {
  /** Undefined if the log contains something that this version cannot fold. */
  state: SessionState | undefined;
  /** The part of the transcript for each run, by the run's id. */
  readonly spans: Map<string, { readonly from: number; to: number | null }>;
  /** How many actions each run has so far. */
  readonly actions: Map<string, number>;
}

export function newDocumentState(sessionId: string): DocumentState {
  return { state: emptyState(sessionId), spans: new Map(), actions: new Map() };
}

export function advance(documentState: DocumentState, events: readonly Event[]): void {
  for (const event of events) {
    for (const { run_id } of actionsOf(event))
      documentState.actions.set(run_id, (documentState.actions.get(run_id) ?? 0) + 1);
    if (documentState.state) follow(documentState, documentState.state, event);
  }
}

function follow(documentState: DocumentState, state: SessionState, event: Event): void {
  if (event.event_type === "session.started")
    documentState.spans.set(event.data.run_id, { from: state.transcript.length, to: null });
  try {
    fold(state, [event]);
  } catch (error) {
    // The log may have facts that `fold` rejects, for example of a newer version. Such a log can be used, but it has no
    // documents of its configuration and its conversations.
    if (!isKnownError(error)) throw error;
    documentState.state = undefined;
    return;
  }
  if (event.event_type !== "session.completed" && event.event_type !== "session.failed") return;
  const span = documentState.spans.get(event.data.run_id);
  if (span) span.to = state.transcript.length;
}
