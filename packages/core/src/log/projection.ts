import { type Await, type Checkpoint, type Event, type Run, timeOf } from "@skein/protocol";
import { COUNTERS, type Counters, RUN_COUNTERS, noCounters, noRunCounters } from "./counters.ts";
import { callIn, countedCall } from "./counted-call.ts";
import { displayText } from "./display-text.ts";
import { type RowPart, resultRow, rowsOf } from "./message-rows.ts";
import { sessionColumns } from "./session-columns.ts";
import type {
  Changes,
  FileRow,
  MessageEntry,
  MessageInsert,
  RunColumns,
  RunUpdate,
  SessionColumns,
} from "./row-changes.ts";

type OpenRunUpdate = Omit<RunUpdate, "models"> & { readonly models: (Counters & { readonly model: string })[] };

/** The changes that are collected while events are read. */
interface OpenChanges {
  sessionInsert: SessionColumns | null;
  sessionSet: Partial<SessionColumns>;
  sessionAdd: Counters & { total_turns: number };
  runInserts: RunColumns[];
  runUpdates: Map<string, OpenRunUpdate>;
  messageInserts: MessageInsert[];
  messageEntries: MessageEntry[];
  messagesEntered: number;
  awaitInserts: Await[];
  awaitCloses: Pick<Await, "tool_use_id" | "closed_at" | "resolution">[];
  checkpointInserts: Checkpoint[];
  fileInserts: FileRow[];
  /** For each message id: the indexes of the message's rows in `messageInserts`. */
  readonly places: Map<string, number[]>;
}

/** Computes the row operations of events. The same events always give the same rows. */
export function project(events: readonly Event[]): Changes {
  const changes: OpenChanges = {
    sessionInsert: null,
    sessionSet: {},
    sessionAdd: { ...noCounters(), total_turns: 0 },
    runInserts: [],
    runUpdates: new Map(),
    messageInserts: [],
    messageEntries: [],
    messagesEntered: 0,
    awaitInserts: [],
    awaitCloses: [],
    checkpointInserts: [],
    fileInserts: [],
    places: new Map(),
  };
  for (const event of events) {
    if (event.event_type !== "session.created") changes.sessionSet.updated_at = event.created_at;
    count(changes, callIn(event));
    projectEvent(changes, event);
  }
  const { places: _, runUpdates, ...done } = changes;
  return { ...done, runUpdates: [...runUpdates.values()] };
}

function projectEvent(changes: OpenChanges, event: Event): void {
  const { session_id, sequence, created_at } = event;
  switch (event.event_type) {
    case "session.created":
      changes.sessionInsert = sessionColumns(event);
      return;
    case "session.edited": {
      const { title, tags, model_id, metadata } = event.data;
      if (title !== undefined) changes.sessionSet.title = title;
      if (tags) changes.sessionSet.tags = tags;
      if (model_id !== undefined) changes.sessionSet.model_id = model_id;
      if (metadata) changes.sessionSet.metadata = metadata;
      return;
    }
    case "title.generated":
      changes.sessionSet.title = event.data.title;
      return;
    case "message.copied": {
      const { message_id, role, content } = event.data;
      for (const row of rowsOf(message_id, role, content))
        changes.messageInserts.push({
          ...row,
          runId: null,
          sequence,
          number: (changes.messagesEntered += 1),
          createdAt: timeOf(event),
        });
      return;
    }
    case "prompt.accepted": {
      const { message_id, run_id, content } = event.data;
      insertRows(changes, event, rowsOf(message_id, "user", content), run_id);
      return;
    }
    case "session.started": {
      const { run_id, user_message } = event.data;
      const started_at = timeOf(event);
      changes.runInserts.push({
        id: run_id,
        session_id,
        started_at,
        completed_at: null,
        outcome: null,
        stop_reason: null,
        user_message: displayText(user_message),
        final_response: null,
        total_steps: 0,
        model: "",
        first_sequence: sequence,
        last_sequence: null,
      });
      Object.assign(changes.sessionSet, {
        status: "running",
        run_id,
        current_step: 0,
        started_at,
        finished_at: null,
        last_run_at: started_at,
      });
      return;
    }
    case "message.created":
      enter(changes, event.data);
      if (event.data.transformation_type === "tool_result_added") changes.sessionSet.status = "running";
      return;
    case "step.started":
      changes.sessionSet.status = "running";
      changes.sessionSet.current_step = event.data.step;
      // A call with `max_tokens` 0 was made by another program, and Skein only observed it. The session gets the model
      // of this call.
      if (event.data.max_tokens === 0) changes.sessionSet.model = displayText(event.data.model);
      return;
    case "step.generated": {
      const { data } = event;
      if (data.purpose === "step" || data.purpose === "summary")
        insertRows(changes, event, rowsOf(data.message_id, "assistant", data.content), data.run_id);
      changes.sessionSet.last_known_input_tokens = data.usage.input_tokens;
      changes.sessionSet.last_known_output_tokens = data.usage.output_tokens;
      if (data.container_id !== null) changes.sessionSet.container_id = data.container_id;
      const update = runUpdate(changes, data.run_id);
      update.set.model = data.model;
      // A complete answer ends the reservations of the calls that broke off.
      update.set.reserved_micros = 0;
      changes.sessionSet.reserved_micros = 0;
      changes.sessionSet.reserved_until = null;
      if (data.purpose === "step" || data.purpose === "summary") update.set.total_steps = data.step;
      if (data.cost?.long_context_applied) update.set.long_context_applied = true;
      return;
    }
    case "step.abandoned":
      breakOff(changes, event.data.run_id, event.data);
      if (event.data.message_id) interrupt(changes, event, event.data);
      return;
    case "step.retried":
    case "step.error":
      if (event.data.lost) breakOff(changes, event.data.run_id, event.data.lost);
      if (event.event_type === "step.error" && event.data.message_id) interrupt(changes, event, event.data);
      return;
    case "tool.completed": {
      const { message_id, part, tool_use_id, content, is_error, run_id } = event.data;
      const row = resultRow({ messageId: message_id, part, toolUseId: tool_use_id, content, isError: is_error });
      insertRows(changes, event, [row], run_id);
      if (event.data.outcome === "unknown") changes.sessionSet.has_unknown_effect = true;
      return;
    }
    case "await.opened":
      changes.sessionSet.status = "awaiting";
      // The table has no columns for `about` and for the session of a subagent: only the event has them.
      for (const { session_id: _child, about: _about, ...opened } of event.data.awaits)
        changes.awaitInserts.push({
          ...opened,
          session_id,
          run_id: event.data.run_id,
          opened_at: created_at,
          closed_at: null,
          resolution: null,
        });
      return;
    case "await.resolved":
      changes.awaitCloses.push({
        tool_use_id: event.data.tool_use_id,
        closed_at: created_at,
        resolution: event.data.resolution,
      });
      return;
    case "session.completed":
      endRun(changes, event, "completed", displayText(event.data.final_response));
      return;
    case "session.failed":
      endRun(changes, event, event.data.outcome, null);
      return;
    case "checkpoint.created":
      changes.checkpointInserts.push({
        id: event.data.checkpoint_id,
        session_id,
        user_message_uuid: event.data.user_message_uuid,
        files_modified: event.data.files_modified,
        created_at: timeOf(event),
      });
      return;
    case "file.stored": {
      const { duration_ms: _, happened_at: _then, ...file } = event.data;
      changes.fileInserts.push({ ...file, session_id, created_at });
      return;
    }
    case "control.requested":
      if (event.data.model !== null) changes.sessionSet.model = event.data.model;
      return;
    case "subagent.messaged":
    case "runtime.started":
    case "runtime.noticed":
    case "hook.called":
    case "rewind.requested":
    case "rewind.completed":
    case "cancel.requested":
    case "run.resumed":
    case "steps.exhausted":
    case "transcript.appended":
    case "tool.started":
    case "await.answered":
    case "parent.informed":
    case "answer.validated":
    case "transcript.repaired":
    case "memory.retrieved":
    case "memory.updated":
    case "memory.saved":
    case "memory.restored":
    case "compaction.checked":
    case "file.generated":
    case "file.downloaded":
    case "file.failed":
  }
}

type Of<Type extends Event["event_type"]> = Extract<Event, { readonly event_type: Type }>;

function insertRows(changes: OpenChanges, event: Event, rows: readonly RowPart[], runId: string): void {
  for (const row of rows) {
    const places = changes.places.get(row.messageId) ?? [];
    changes.places.set(row.messageId, [...places, changes.messageInserts.length]);
    changes.messageInserts.push({ ...row, runId, sequence: event.sequence, number: null, createdAt: timeOf(event) });
  }
}

/**
 * Gives the rows of a message their numbers. New rows are inserted with a number, and rows of an earlier append are
 * updated.
 */
function enter(changes: OpenChanges, entered: Of<"message.created">["data"]): void {
  const first = changes.messagesEntered + 1;
  changes.messagesEntered += entered.rows;
  const places = changes.places.get(entered.message_id) ?? [];
  for (const place of places) {
    const row = changes.messageInserts[place];
    if (row) changes.messageInserts[place] = { ...row, number: first + row.part, runId: entered.run_id };
  }
  if (places.length < entered.rows)
    changes.messageEntries.push({ messageId: entered.message_id, runId: entered.run_id, first });
}

function endRun(
  changes: OpenChanges,
  event: Of<"session.completed"> | Of<"session.failed">,
  outcome: NonNullable<Run["outcome"]>,
  finalResponse: string | null,
): void {
  const { run_id, stop_reason, step } = event.data;
  Object.assign(runUpdate(changes, run_id).set, {
    completed_at: timeOf(event),
    outcome,
    stop_reason,
    final_response: finalResponse,
    last_sequence: event.sequence,
    total_steps: step,
  });
  Object.assign(changes.sessionSet, { status: "idle", outcome, run_id: null, finished_at: timeOf(event) });
  changes.sessionAdd.total_turns += 1;
}

/** Adds the usage and the cost of a model call to the counters of the session, the run and the model. */
function count(changes: OpenChanges, call: ReturnType<typeof callIn>): void {
  if (!call) return;
  const model = displayText(call.model);
  const added = countedCall(call);
  const { add, models } = runUpdate(changes, call.run_id);
  for (const key of RUN_COUNTERS) add[key] += added[key];
  const ofModel = models.find((one) => one.model === model) ?? { model, ...noCounters() };
  if (!models.includes(ofModel)) models.push(ofModel);
  for (const key of COUNTERS) {
    changes.sessionAdd[key] += added[key];
    ofModel[key] += added[key];
  }
}

/** Reserves what a call that broke off may have cost beyond its known usage. */
function breakOff(changes: OpenChanges, run_id: string, lost: NonNullable<Of<"step.error">["data"]["lost"]>): void {
  const { set } = runUpdate(changes, run_id);
  set.model ??= displayText(lost.model);
  if (!lost.reservation) return;
  const { run_micros, session_micros, until } = lost.reservation;
  set.reserved_micros = run_micros;
  changes.sessionSet.reserved_micros = session_micros;
  changes.sessionSet.reserved_until = until;
}

/** Makes an interrupted message from the text of an answer that broke off. */
function interrupt(
  changes: OpenChanges,
  event: Event,
  { message_id = "", content = [], run_id }: Pick<Of<"step.abandoned">["data"], "message_id" | "content" | "run_id">,
): void {
  const rows = rowsOf(message_id, "assistant", content);
  insertRows(
    changes,
    event,
    rows.map((row) => ({ ...row, content: { ...row.content, interrupted: true } })),
    run_id,
  );
}

function runUpdate(changes: OpenChanges, id: string): OpenRunUpdate {
  const update = changes.runUpdates.get(id) ?? { id, set: {}, add: noRunCounters(), models: [] };
  changes.runUpdates.set(id, update);
  return update;
}
