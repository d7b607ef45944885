import { ApiError } from "./api-error.ts";
import type { Ids } from "./ids.ts";
import type { GeneratedFile } from "./script.ts";

export interface FileMetadata {
  readonly id: string;
  readonly type: "file";
  readonly filename: string;
  readonly mime_type: string;
  readonly size_bytes: number;
  readonly created_at: string;
  /** As in the API, only files that a tool generated can be downloaded. */
  readonly downloadable: boolean;
  readonly expires_at: string | null;
}

export interface FileStore {
  addGenerated(file: GeneratedFile): FileMetadata;
  addUploaded(file: { readonly name: string; readonly mime: string; readonly bytes: Buffer }): FileMetadata;
  /** Newest first. */
  list(): readonly FileMetadata[];
  get(id: string): FileMetadata;
  content(id: string): Buffer;
  remove(id: string): void;
}

const MAXIMUM_BYTES = 256 * 1024 * 1024;

const MIME_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  html: "text/html",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain",
};

/** Stores files in memory. Above 256 MB, the oldest files are removed. */
export function createFileStore({ ids, now }: { readonly ids: Ids; readonly now: () => number }): FileStore {
  const files = new Map<string, { readonly metadata: FileMetadata; readonly bytes: Buffer }>();
  let total = 0;

  function add(filename: string, mime_type: string, bytes: Buffer, downloadable: boolean): FileMetadata {
    const metadata: FileMetadata = {
      id: ids("file_"),
      type: "file",
      filename,
      mime_type,
      size_bytes: bytes.length,
      created_at: new Date(now()).toISOString(),
      downloadable,
      expires_at: null,
    };
    files.set(metadata.id, { metadata, bytes });
    total += bytes.length;
    for (const id of files.keys()) {
      if (total <= MAXIMUM_BYTES || id === metadata.id) break;
      remove(id);
    }
    return metadata;
  }

  function find(id: string): { readonly metadata: FileMetadata; readonly bytes: Buffer } {
    const file = files.get(id);
    if (!file) throw new ApiError(404, { message: `File not found: ${id}` });
    return file;
  }

  function remove(id: string): void {
    total -= find(id).bytes.length;
    files.delete(id);
  }

  return {
    addGenerated({ name, content, base64, mime }) {
      const bytes = base64 === undefined ? Buffer.from(content ?? "") : Buffer.from(base64, "base64");
      return add(name, mime ?? mimeOf(name), bytes, true);
    },
    addUploaded({ name, mime, bytes }) {
      return add(name, mime === "" ? mimeOf(name) : mime, bytes, false);
    },
    list: () => [...files.values()].map((file) => file.metadata).toReversed(),
    get: (id) => find(id).metadata,
    content(id) {
      const { metadata, bytes } = find(id);
      if (metadata.downloadable) return bytes;
      throw new ApiError(400, {
        message: `File '${id}' is not downloadable.`,
        details: { error_code: "file_not_downloadable" },
      });
    },
    remove,
  };
}

function mimeOf(name: string): string {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return MIME_TYPES[ending] ?? "application/octet-stream";
}
