/** The Files API. The beta header that the real API once required is optional. */
import { basename } from "node:path";
import type { ServerResponse } from "node:http";
import { ApiError, invalid } from "./api-error.ts";
import type { FileMetadata, FileStore } from "./file-store.ts";
import { sendJson } from "./http.ts";

export interface FilesCall {
  readonly method: string;
  /** The path after `/v1/files`, without slashes at its ends. */
  readonly rest: string;
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: Buffer;
}

export async function answerFiles(files: FileStore, call: FilesCall, response: ServerResponse): Promise<void> {
  const [id = "", action] = call.rest.split("/");
  const what = `${call.method} ${id === "" ? "" : "file"}${action === undefined ? "" : `/${action}`}`;
  switch (what) {
    case "GET ":
      return sendJson(response, page(files.list(), call.query));
    case "POST ":
      return sendJson(response, files.addUploaded(await readUpload(call)));
    case "GET file":
      return sendJson(response, files.get(id));
    case "DELETE file":
      files.remove(id);
      return sendJson(response, { id, type: "file_deleted" });
    case "GET file/content":
      return sendContent(files, id, response);
    default:
      throw new ApiError(404);
  }
}

function sendContent(files: FileStore, id: string, response: ServerResponse): void {
  const bytes = files.content(id);
  const { mime_type, filename } = files.get(id);
  const name = encodeURIComponent(filename);
  response
    .writeHead(200, {
      "content-type": mime_type,
      "content-length": bytes.length,
      "content-disposition": `attachment; filename*=UTF-8''${name}`,
    })
    .end(bytes);
}

/**
 * Returns a page for new and for older clients. New clients read `next_page`. Older clients read `has_more` and send
 * `after_id`.
 */
function page(all: readonly FileMetadata[], query: URLSearchParams): object {
  const ids = [...query.getAll("ids"), ...query.getAll("ids[]")];
  const wanted = ids.length > 0 ? all.filter((file) => ids.includes(file.id)) : all;
  const after = query.get("page") ?? query.get("after_id");
  const start = wanted.findIndex((file) => file.id === after) + 1;
  const data = wanted.slice(start, start + Number(query.get("limit") ?? 20));
  const last_id = data.at(-1)?.id ?? null;
  const has_more = start + data.length < wanted.length;
  return { data, has_more, first_id: data[0]?.id ?? null, last_id, next_page: has_more ? last_id : null };
}

async function readUpload(call: FilesCall): Promise<Parameters<FileStore["addUploaded"]>[0]> {
  const file = (await readForm(call)).get("file");
  if (file === null) throw invalid("file", "Field required");
  if (typeof file === "string") throw invalid("file", "Expected a file, not a field");
  // Only the last part of a path is kept, as in the API.
  const name = basename(file.name.replaceAll("\\", "/"));
  return { name: name === "" ? "unnamed" : name, mime: file.type, bytes: Buffer.from(await file.arrayBuffer()) };
}

async function readForm({ contentType, body }: FilesCall): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  } catch {
    throw invalid("", "Expected a multipart/form-data body");
  }
}
