import { encodeProjectPath } from "@skein/history/format";
import { type ClaudeFile, type Event, type JsonObject, KnownError } from "@skein/protocol";
import { BACKUPS } from "../transcript.ts";
import { NO_TOKENS, TOOL_RESULTS, linesOfEvents } from "./transcript-lines.ts";

/**
 * The files that Claude Code and the SDK need to open this session: its transcript, the transcripts of its subagents,
 * long outputs of tools, and the files of its checkpoints.
 */
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
    if (subpath === null) return [textFile(`${project}/${sessionId}.jsonl`, textOf(lines))];
    if (subpath.startsWith(TOOL_RESULTS)) return copyFiles(`${project}/${sessionId}/tool-results`, lines, SAFE_RESULT);
    if (subpath.startsWith(BACKUPS)) return copyFiles(`${BACKUPS}${sessionId}`, lines, SAFE_COPY);
    if (!SAFE.test(subpath)) return [];
    return subagentFiles(`${project}/${sessionId}/${subpath}`, lines);
  });
}

/** Claude Code's own names of such files. Other names are rejected, because they could lead out of the folder. */
const SAFE = /^subagents(?:\/[A-Za-z0-9_-]+)+$/;

const SAFE_COPY = /^[A-Za-z0-9_-]+@v\d+$/;
const SAFE_RESULT = /^[A-Za-z0-9_-]+\.(?:txt|json)$/;

function textFile(path: string, content: string): ClaudeFile {
  return { path, content, encoding: "utf8" };
}

/** If a copy was made twice, the newer one counts. */
function copyFiles(folder: string, lines: readonly string[], safe: RegExp): readonly ClaudeFile[] {
  const { name, data } = entryOf(lines.at(-1) ?? "");
  if (typeof name !== "string" || typeof data !== "string" || !safe.test(name)) return [];
  return [{ path: `${folder}/${name}`, content: data, encoding: "base64" }];
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${ownModel(line)}\n`).join("");
}

/** The model name under which Claude Code accepts an answer of another provider's model. */
const STAND_IN = "claude-sonnet-5";

/**
 * Claude Code leaves out tool calls of models that it does not know, and the API then rejects the conversation. So the
 * answer of an unknown model gets the name of a known model, with 0 tokens, because the known model used none. The real
 * name is kept in a separate field.
 */
function ownModel(line: string): string {
  if (!line.includes('"carriedFrom":')) return line;
  const entry = entryOf(line);
  const message = entry["message"];
  if (typeof entry["carriedFrom"] !== "string" || typeof message !== "object" || message === null) return line;
  return JSON.stringify({ ...entry, message: { ...message, model: STAND_IN, usage: NO_TOKENS } });
}

/** The folder that the session belongs to: the one it was moved to, otherwise the one of its first message. */
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
 * A subagent's transcript, and the file beside it that describes the subagent. In the log the description is one of the
 * entries.
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
