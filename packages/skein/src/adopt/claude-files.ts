import { encodeProjectPath } from "@skein/history";
import { type Event, type JsonObject, KnownError } from "@skein/protocol";
import { linesOfEvents } from "./transcript-lines.ts";

/** A file of Claude Code's data directory. */
export interface ClaudeFile {
  /** Below the data directory: `projects/-work-app/….jsonl`. */
  readonly path: string;
  readonly content: string;
}

/** The files from which Claude Code, and the SDK's own reader, open this session: its transcript and those of its subagents. */
export function claudeFiles(sessionId: string, events: readonly Event[]): readonly ClaudeFile[] {
  const transcripts = linesOfEvents(events);
  const own = transcripts.get(null);
  if (!own)
    throw new KnownError(
      "invalid",
      `Session ${sessionId} has no transcript of Claude Code: another runtime drives it.`,
    );
  const project = `projects/${encodeProjectPath(projectOf(events, own))}`;
  return [...transcripts].flatMap(([subpath, lines]) => {
    if (subpath === null) return [{ path: `${project}/${sessionId}.jsonl`, content: textOf(lines) }];
    if (!SAFE.test(subpath)) return [];
    return subagentFiles(`${project}/${sessionId}/${subpath}`, lines);
  });
}

/** What Claude Code itself names such files. Anything else could lead out of the folder. */
const SAFE = /^subagents(?:\/[A-Za-z0-9_-]+)+$/;

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** The folder that the session belongs to: where it was moved to, or where it first spoke. */
function projectOf(events: readonly Event[], lines: readonly string[]): string {
  const entries = lines.map(entryOf);
  const moved = entries.findLast((entry) => entry["type"] === "relocated")?.["relocatedCwd"];
  if (typeof moved === "string" && moved !== "") return moved;
  const [created] = events;
  const first = entries.map((entry) => entry["cwd"]).find((cwd) => typeof cwd === "string");
  if (first !== undefined) return first;
  return (created?.event_type === "session.created" ? created.data.working_directory : null) ?? "/";
}

function entryOf(line: string): JsonObject {
  try {
    return (JSON.parse(line) ?? {}) as JsonObject;
  } catch {
    return {};
  }
}

/** A subagent's transcript, and beside it what is known about the subagent: in the log that is an entry among the others. */
function subagentFiles(path: string, lines: readonly string[]): readonly ClaudeFile[] {
  const isMeta = (line: string): boolean => entryOf(line)["type"] === "agent_metadata";
  const said = lines.filter((line) => !isMeta(line));
  const meta = lines.findLast(isMeta);
  const files = said.length === 0 ? [] : [{ path: `${path}.jsonl`, content: textOf(said) }];
  if (meta === undefined) return files;
  const { type: _, ...about } = entryOf(meta);
  return [...files, { path: `${path}.meta.json`, content: JSON.stringify(about) }];
}
