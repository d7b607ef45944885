import { COUNTERS, type Changes, RUN_COUNTERS, displayText } from "@skein/core";
import { jsonText, showableJson } from "../sql/body.ts";
import { plainArray, textArray } from "./arrays.ts";

/** The changes of rows by an append, as parameters of `skein.append`. */
export interface ChangeValues {
  /** How many messages (`entered`) and runs (`started`) get a new number. */
  readonly entered: number;
  readonly started: number;
  /** The new values of the head; null leaves a value unchanged. */
  readonly step: number | null;
  readonly container: string | null;
  readonly knownInput: number | null;
  readonly knownOutput: number | null;
  /** The increases of the head's counters, or null for none. */
  readonly add: string | null;
  /** The rows of messages, as one array per column; null if there are no messages. */
  readonly rows: readonly (string | Buffer | null)[];
  /** All other changes as JSON, or null if there are none. */
  readonly json: string | null;
}

/** The counters of a session, in the order of the parameters of skein.append and skein.apply. */
const SESSION_COUNTERS = ["total_turns", ...COUNTERS] as const;

/**
 * Converts the changes by an append to parameters. Contents, inputs and metadata must stay exact, so they are sent as
 * JSON inside a JSON string. Other texts are shown to people. They are sent without characters that a column cannot
 * store.
 *
 * `happened` has an entry for each event: the time at which the event happened, or null if the event is written at that
 * time.
 */
export function changeValues(changes: Changes, happened: readonly (string | null)[]): ChangeValues {
  const { current_step, container_id, last_known_input_tokens, last_known_output_tokens } = changes.sessionSet;
  const added = SESSION_COUNTERS.map((name) => changes.sessionAdd[name]);
  const add = [...added, ...reservation(changes.sessionSet)];
  return {
    entered: changes.messagesEntered,
    started: changes.runInserts.length,
    step: current_step ?? null,
    container: container_id === undefined || container_id === null ? null : displayText(container_id),
    knownInput: last_known_input_tokens ?? null,
    knownOutput: last_known_output_tokens ?? null,
    add: add.some((amount) => amount !== 0 && amount !== null) ? plainArray(add) : null,
    rows: rowColumns(changes.messageInserts),
    json: changesJson(changes, happened),
  };
}

/**
 * Returns the reserved amount, and its end in milliseconds. These values replace the stored values; null keeps the
 * stored values.
 */
function reservation({ reserved_micros, reserved_until }: Changes["sessionSet"]): readonly (number | null)[] {
  if (reserved_micros === undefined) return [null, null];
  return [reserved_micros, reserved_until ? Date.parse(reserved_until) : 0];
}

type MessageRows = Changes["messageInserts"];

const ROW_COLUMNS: readonly ((rows: MessageRows) => string | Buffer)[] = [
  (rows) => plainArray(rows.map(({ id }) => id)),
  (rows) => plainArray(rows.map(({ messageId }) => messageId)),
  (rows) => plainArray(rows.map(({ part }) => part)),
  (rows) => plainArray(rows.map(({ number }) => number)),
  (rows) => plainArray(rows.map(({ role }) => role)),
  (rows) => textArray(rows.map(({ content }) => jsonText(content))),
  (rows) => textArray(rows.map(({ toolCallId }) => toolCallId && displayText(toolCallId))),
  (rows) => plainArray(rows.map(({ runId }) => runId)),
  (rows) => plainArray(rows.map(({ sequence }) => sequence)),
];

function rowColumns(rows: MessageRows): ChangeValues["rows"] {
  return ROW_COLUMNS.map((column) => (rows.length === 0 ? null : column(rows)));
}

function changesJson(changes: Changes, happened: readonly (string | null)[]): string | null {
  const { sessionInsert, sessionSet } = changes;
  const tags = sessionSet.tags ?? sessionInsert?.tags ?? [];
  const exactMetadata = sessionSet.metadata ?? sessionInsert?.metadata;
  const parts = {
    // If the append creates the session, its changes are written with the new row. A later update would write every
    // index again.
    ...(sessionInsert
      ? { session: { ...sessionInsert, ...sessionSet, metadata: undefined } }
      : sessionParts(sessionSet)),
    ...(exactMetadata && { metadata: jsonText(exactMetadata) }),
    ...((tags.length > 0 || sessionSet.tags) && { tags }),
    ...some("runs", changes.runInserts),
    ...some(
      "run_updates",
      changes.runUpdates.map(({ id, set, add, models }) => ({
        id,
        set,
        add: RUN_COUNTERS.map((name) => add[name]),
        models: models.map((used) => [used.model, ...COUNTERS.map((name) => used[name])]),
      })),
    ),
    ...some(
      "entries",
      changes.messageEntries.map(({ messageId, runId, first }) => ({ message_id: messageId, run_id: runId, first })),
    ),
    ...some(
      "awaits",
      changes.awaitInserts.map((opened) => ({
        tool_use_id: opened.tool_use_id,
        kind: opened.kind,
        opened: jsonText(opened),
      })),
    ),
    ...some("closes", changes.awaitCloses),
    ...some(
      "checkpoints",
      changes.checkpointInserts.map(({ session_id: _session, ...checkpoint }) => checkpoint),
    ),
    ...some(
      "files",
      changes.fileInserts.map(({ session_id: _session, run_id, created_at, ...file }) => ({
        run_id,
        file_id: displayText(file.file_id),
        created_at,
        shown: jsonText({ ...file, timestamp: created_at }),
      })),
    ),
    ...(happened.some((time) => time !== null) && { happened }),
  };
  return Object.keys(parts).length === 0 ? null : showableJson(jsonText(parts));
}

/**
 * Returns the changes of the session's row. Every step sets the status again, so a change of only the status has a
 * shorter form.
 */
function sessionParts({
  updated_at,
  current_step: _step,
  container_id: _container,
  last_known_input_tokens: _input,
  last_known_output_tokens: _output,
  reserved_micros: _reserved,
  reserved_until: _until,
  metadata,
  ...set
}: Changes["sessionSet"]): object {
  const names = Object.keys(set);
  if (names.length === 0 && !metadata) return {};
  if (names.length === 1 && set.status && !metadata) return { status: set.status, changed_at: updated_at };
  return { set, changed_at: updated_at };
}

function some<Name extends string, Row>(name: Name, rows: readonly Row[]): Partial<Record<Name, readonly Row[]>> {
  return rows.length === 0 ? {} : ({ [name]: rows } as Record<Name, readonly Row[]>);
}
