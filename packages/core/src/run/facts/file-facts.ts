import type { FactData, Failure } from "@skein/protocol";
import { type FactOf, type Place, inStep } from "./place.ts";

/** A stored file that the model made. */
export interface KeptFile {
  readonly fileId: string;
  readonly filename: string;
  readonly size: number;
  readonly mimeType: string;
  readonly storagePath: string;
  readonly downloadMs: number;
  readonly storeMs: number;
}

/** Makes the facts of a stored file: `file.generated`, `file.downloaded` and `file.stored`. */
export function fileKept(place: Place, file: KeptFile) {
  const named = { ...inStep(place), file_id: file.fileId, filename: file.filename };
  return [
    { event_type: "file.generated", data: named },
    { event_type: "file.downloaded", data: { ...named, size: file.size, duration_ms: file.downloadMs } },
    {
      event_type: "file.stored",
      data: {
        ...named,
        storage_path: file.storagePath,
        size: file.size,
        mime_type: file.mimeType,
        duration_ms: file.storeMs,
      },
    },
  ] as const satisfies readonly FactOf<"file.generated" | "file.downloaded" | "file.stored">[];
}

/** Makes the fact `file.failed`: a file could not be fetched or stored. The run continues without the file. */
export function fileFailed(
  place: Place,
  { fileId, filename, error }: { fileId: string; filename: string | null; error: Failure },
): FactOf<"file.failed"> {
  return { event_type: "file.failed", data: { ...inStep(place), file_id: fileId, filename, error } };
}

/** Makes the fact `checkpoint.created`: the files can be restored as they were at this user message. */
export function checkpointCreated(checkpoint: {
  readonly checkpointId: string;
  readonly userMessageId: string;
  readonly filesModified: Iterable<string>;
}): FactOf<"checkpoint.created"> {
  return {
    event_type: "checkpoint.created",
    data: {
      checkpoint_id: checkpoint.checkpointId,
      user_message_uuid: checkpoint.userMessageId,
      files_modified: [...checkpoint.filesModified],
    },
  };
}

/** Makes the fact `rewind.completed`: a requested rewind is done, or could not be done. */
export function rewindCompleted(data: FactData<"rewind.completed">): FactOf<"rewind.completed"> {
  return { event_type: "rewind.completed", data };
}
