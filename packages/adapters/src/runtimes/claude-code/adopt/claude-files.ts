import { encodeProjectPath } from "@skein/history/format";
import { type ClaudeFile, type Event, type JsonObject, KnownError } from "@skein/protocol";
import { BACKUPS } from "../transcript.ts";
import { NO_TOKENS, TOOL_RESULTS, linesOfEvents } from "./transcript-lines.ts";

/**
 * Returns the files that Claude Code and the SDK need to open a session: transcripts of the session and its subagents,
 * long outputs of tools, and the files of its checkpoints.
 */
export function claudeFiles(sessionId: string, events: readonly Event[]): readonly ClaudeFile[] {
  const transcripts = linesOfEvents(events);
  const own = transcripts.get(null);
  if (!own)
    throw new KnownError(
      "invalid",
      `Session ${sessionId} has no transcript of Claude Code: the session has another runtime.`,
    );
  const project = `projects/${encodeProjectPath(projectOf(events, own))}`;
  return [...transcripts].flatMap(([subpath, lines]) => {
    if (subpath === null) return [textFile(`${project}/${sessionId}.jsonl`, textOf(lines))];
    if (subpath.startsWith(TOOL_RESULTS)) return copyFiles(`${project}/${sessionId}/tool-results`, lines, SAFE_RESULT);
    if (subpath.startsWith(BACKUPS)) return copyFiles(`${BACKUPS}${sessionId}`, lines, SAFE_COPY);
    if (!SAFE.test(subpath)) return [];
    return subagentFiles(`${project}/${sessionId}/${subpath}`, lines);
  });
}

/**
 * The names that Claude Code uses. Files with other names are left out, because a name could lead out of the folder.
 */
const SAFE = /^subagents(?:\/[A-Za-z0-9_-]+)+$/;

const SAFE_COPY = /^[A-Za-z0-9_-]+@v\d+$/;
const SAFE_RESULT = /^[A-Za-z0-9_-]+\.(?:txt|json)$/;

function textFile(path: string, content: string): ClaudeFile {
  return { path, content, encoding: "utf8" };
}

/** Returns the file in the newest line. Returns no file if its name is not safe. */
function copyFiles(folder: string, lines: readonly string[], safe: RegExp): readonly ClaudeFile[] {
  const { name, data } = entryOf(lines.at(-1) ?? "");
  if (typeof name !== "string" || typeof data !== "string" || !safe.test(name)) return [];
  return [{ path: `${folder}/${name}`, content: data, encoding: "base64" }];
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${ownModel(line)}\n`).join("");
}

/** A model that Claude Code knows. Its name replaces the name of an unknown model. */
const STAND_IN = "claude-sonnet-5";

/**
 * Gives the answer of an unknown model the name of a known model, and 0 tokens. Claude Code leaves out tool calls of
 * unknown models, and the API would then reject the conversation. The field `carriedFrom` keeps the real name.
 */
function ownModel(line: string): string {
  if (!line.includes('"carriedFrom":')) return line;
  const entry = entryOf(line);
  const message = entry["message"];
  if (typeof entry["carriedFrom"] !== "string" || typeof message !== "object" || message === null) return line;
  return JSON.stringify({ ...entry, message: { ...message, model: STAND_IN, usage: NO_TOKENS } });
}

/** Returns the folder to which the session was moved, or the first folder in its lines, or its working directory. */
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

/**
 * Returns a subagent's transcript and the file that describes the subagent. In the log, the description is an entry of
 * the transcript.
 */
function subagentFiles(path: string, lines: readonly string[]): readonly ClaudeFile[] {
  const isMeta = (line: string): boolean => entryOf(line)["type"] === "agent_metadata";
  const said = lines.filter((line) => !isMeta(line));
  const meta = lines.findLast(isMeta);
  const files = said.length === 0 ? [] : [textFile(`${path}.jsonl`, textOf(said))];
  if (meta === undefined) return files;
  const { type: _, ...about } = entryOf(meta);
  return [...files, textFile(`${path}.meta.json`, JSON.stringify(about))];
}
