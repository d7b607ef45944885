import type { Store } from "@skein/core";
import type { JsonObject } from "@skein/protocol";

/** Claude Code's transcript of a session as stored in the log: entries by subpath, where `""` is the session's own transcript. */
export type Transcript = ReadonlyMap<string, readonly Entry[]>;

/** One line of the transcript. Most have a uuid. */
export type Entry = JsonObject & { readonly type: string };

/** The subpath of file copies that a rewind needs. They are not part of the transcript, but are stored with it. */
export const BACKUPS = "file-history/";

export async function readTranscript(store: Store, sessionId: string): Promise<Transcript> {
  const transcript = new Map<string, Entry[]>();
  for (const event of await store.read(sessionId)) {
    if (event.event_type !== "transcript.appended") continue;
    const subpath = event.data.subpath ?? "";
    const entries = transcript.get(subpath) ?? [];
    transcript.set(subpath, entries);
    entries.push(...(event.data.entries as Entry[]));
  }
  return transcript;
}

export function uuidOf(entry: JsonObject): string | undefined {
  return typeof entry["uuid"] === "string" ? entry["uuid"] : undefined;
}

/** The prompt that Claude Code read during a turn, if this entry records that. */
export function steeredBy(entry: JsonObject): string | undefined {
  const { type, source_uuid } = (entry["attachment"] ?? {}) as {
    readonly type?: unknown;
    readonly source_uuid?: unknown;
  };
  return type === "queued_command" && typeof source_uuid === "string" ? source_uuid : undefined;
}

/** The blocks of an entry that contains a message. */
export function blocksIn(entry: JsonObject): readonly JsonObject[] {
  const message = entry["message"] as { readonly content?: unknown } | undefined;
  return Array.isArray(message?.content) ? (message.content as JsonObject[]) : [];
}
