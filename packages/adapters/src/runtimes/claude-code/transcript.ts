import type { Store } from "@skein/core";
import type { JsonObject } from "@skein/protocol";

/** Claude Code's transcript of a session, from the log. The keys are subpaths. The key `""` is the main transcript. */
export type Transcript = ReadonlyMap<string, readonly Entry[]>;

/** A line of the transcript. Most lines have a uuid. */
export type Entry = JsonObject & { readonly type: string };

/** The subpath of file copies for a rewind. The copies are stored with the transcript, but are not part of it. */
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

/** Returns the prompt that Claude Code read during a turn, if this entry records such a prompt. */
export function steeredBy(entry: JsonObject): string | undefined {
  const { type, source_uuid } = (entry["attachment"] ?? {}) as {
    readonly type?: unknown;
    readonly source_uuid?: unknown;
  };
  return type === "queued_command" && typeof source_uuid === "string" ? source_uuid : undefined;
}

/** Returns the blocks of an entry's message. */
export function blocksIn(entry: JsonObject): readonly JsonObject[] {
  const message = entry["message"] as { readonly content?: unknown } | undefined;
  return Array.isArray(message?.content) ? (message.content as JsonObject[]) : [];
}
