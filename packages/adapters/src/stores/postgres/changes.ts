import { type Changes, displayText } from "@skein/core";
import { jsonText, showableJson } from "../sql/body.ts";

/**
 * The row operations of an append as one JSON parameter of `skein.append`, or null if there are none.
 *
 * Text that must stay exact (contents, inputs, metadata) travels as JSON inside a JSON string; everything else goes into
 * columns that people read and loses what a column cannot hold.
 */
export function changesJson(changes: Changes): string | null {
  const { updated_at, metadata, ...set } = changes.sessionSet;
  const add = Object.fromEntries(Object.entries(changes.sessionAdd).filter(([, amount]) => amount !== 0));
  const exactMetadata = changes.sessionInsert?.metadata ?? metadata;
  const parts = {
    ...(changes.sessionInsert && { session: { ...changes.sessionInsert, metadata: undefined } }),
    ...(exactMetadata && { metadata: jsonText(exactMetadata) }),
    ...((Object.keys(set).length > 0 || metadata) && { set: { ...set, changed_at: updated_at } }),
    ...(Object.keys(add).length > 0 && { add }),
    ...some("runs", changes.runInserts),
    ...some("run_updates", changes.runUpdates),
    ...some(
      "messages",
      changes.messageInserts.map((row) => ({
        id: row.id,
        message_id: row.messageId,
        part: row.part,
        number: row.number,
        role: row.role,
        content: jsonText(row.content),
        tool_call_id: row.toolCallId,
        run_id: row.runId,
        sequence: row.sequence,
        created_at: row.createdAt,
      })),
    ),
    ...some(
      "entries",
      changes.messageEntries.map(({ messageId, runId, first }) => ({ message_id: messageId, run_id: runId, first })),
    ),
    ...(changes.messagesEntered > 0 && { entered: changes.messagesEntered }),
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
  };
  return Object.keys(parts).length === 0 ? null : showableJson(jsonText(parts));
}

function some<Name extends string, Row>(name: Name, rows: readonly Row[]): Partial<Record<Name, readonly Row[]>> {
  return rows.length === 0 ? {} : ({ [name]: rows } as Record<Name, readonly Row[]>);
}
