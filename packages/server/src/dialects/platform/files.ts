import { KnownError } from "@skein/protocol";
import { type Handlers, sessionIn } from "../../request-context.ts";

/** The name under which a browser saves a file: the last part of the path, without lone surrogates. */
function savedAs(filename: string): string {
  const last = filename.toWellFormed().split(/[\\/]/).at(-1) ?? "";
  return /^\.*$/.test(last) ? "file" : last;
}

/** Files that a session made. */
export const fileHandlers = {
  async listFiles({ params }, call) {
    const { id } = await sessionIn(call, params);
    const { files } = await call.sessions.state(id);
    return {
      data: Object.entries(files).map(([file_id, { filename, size, mime_type, created_in_run, last_updated_at }]) => ({
        file_id,
        filename,
        size,
        mime_type,
        created_in_run,
        last_updated_at,
      })),
    };
  },
  async downloadFile({ params }, call) {
    const { id } = await sessionIn(call, params);
    const { files } = await call.sessions.state(id);
    const file = Object.hasOwn(files, params.file_id) ? files[params.file_id] : undefined;
    const kept = call.shared.deps.files;
    // An imported log may name any path, so only files in the session's folder are read.
    if (!file || !kept || file.storage_path.split(/[\\/]/).at(-2) !== id)
      throw new KnownError("not_found", `Session ${id} has no file ${params.file_id}.`);
    const payload = await kept.get(file.storage_path);
    return {
      raw: {
        // Browsers save the file and never render it as a page of this server, whatever its type.
        type: "application/octet-stream",
        payload: Buffer.from(payload),
        headers: {
          "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(savedAs(file.filename))}`,
        },
      },
    };
  },
} satisfies Partial<Handlers>;
