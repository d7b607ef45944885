import type { Fact, Failure } from "@skein/protocol";
import { type ModelCatalog, ModelFailure } from "../ports/model.ts";
import type { FileStore } from "../ports/file-store.ts";
import { fileFailed, fileKept } from "../run/facts/index.ts";
import type { RunState, SessionState } from "../log/state.ts";
import { modelOf } from "./request.ts";

/** Downloads a file that code execution made, and stores it. A failure is recorded, and the run continues. */
export async function storeFile(
  state: SessionState,
  fileId: string,
  deps: { readonly models: ModelCatalog; readonly files: FileStore | undefined; readonly now: () => number },
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const current = state.run as RunState;
  const made = current.files.find((file) => file.fileId === fileId);
  const place = { runId: current.runId, step: made?.step ?? current.step };
  // Another model may be in use by now, so the file is fetched from the model that made it.
  const name = made?.model ?? modelOf(state);
  const failed = (error: Failure, filename: string | null): Fact => fileFailed(place, { fileId, filename, error });
  if (!deps.files)
    return [
      failed({ code: "no_file_store", message: "No place for generated files is configured. Set SKEIN_FILES." }, null),
    ];
  let filename: string | null = null;
  try {
    const started = deps.now();
    const model = deps.models.named(state.tenant, name);
    if (!model.download) throw new Error(`Skein cannot download files from the provider of ${name}.`);
    const file = await model.download(fileId, signal);
    filename = file.filename;
    const downloadMs = Math.max(0, deps.now() - started);
    const stored = await deps.files.put({
      sessionId: state.sessionId,
      fileId,
      filename: file.filename,
      bytes: file.bytes,
    });
    return fileKept(place, {
      fileId,
      filename: file.filename,
      size: file.bytes.byteLength,
      mimeType: file.mimeType,
      storagePath: stored.storagePath,
      downloadMs,
      storeMs: Math.max(0, deps.now() - started - downloadMs),
    });
  } catch (error) {
    if (signal.aborted) return [];
    const message = error instanceof Error ? error.message : String(error);
    return [failed(error instanceof ModelFailure ? error.failure : { code: "file_error", message }, filename)];
  }
}
