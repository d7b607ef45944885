import { type JsonObject, KnownError, Uuid } from "@skein/protocol";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { type TranscriptLine, linesOfFile } from "./transcript-lines.ts";

/** A session from the history library. */
export interface FoundSession {
  readonly id: string;
  /** The path of the transcript. */
  readonly path: string;
  readonly summary: string | null;
  readonly projectPath: string;
  /** `folder` means that the project's path is guessed from the name of a folder. */
  readonly projectPathSource: string;
  readonly version: string;
  readonly gitBranch: string | null;
  readonly timestamp: Date;
  readonly lastActivityAt: Date;
  readonly messages: readonly TranscriptMessage[];
  readonly agents: readonly {
    readonly path: string | null;
    readonly agentId: string;
    readonly parentAgentId: string | null;
    readonly toolUseId: string | null;
  }[];
}

/** A message of a transcript. The history library adds whether it was rewound, compacted, or typed by a person. */
export type TranscriptMessage = UserLine | AnswerLines | OtherLine;

interface LineBase {
  readonly uuid: string;
  readonly timestamp: Date;
  /** True if the line has no time. */
  readonly timestampIsInferred: boolean;
  readonly isSidechain: boolean;
  readonly isActive: boolean;
  readonly isCompacted: boolean;
  /** The number of the message's first line in the file. The first line of the file has the number 1. */
  readonly lineNumber: number;
  readonly raw: JsonObject;
}

export interface UserLine extends LineBase {
  readonly type: string;
  readonly role: "user";
  /** The text that a person typed. Null if Claude Code wrote the line. */
  readonly humanPrompt: string | null;
}

/** An answer of the model. The file has a line for each block of an answer. */
export interface AnswerLines extends LineBase {
  readonly type: string;
  readonly role: "assistant";
  readonly lineUuids: readonly string[];
  readonly content: readonly { readonly type: string }[];
}

interface OtherLine extends LineBase {
  readonly type: string;
  readonly role?: undefined;
  readonly humanPrompt: string | null;
}

/** A session of Claude Code, with the contents of its files. */
export interface ClaudeSession {
  readonly id: string;
  readonly title: string | null;
  /** The folder of the session. Null if it can only be guessed. */
  readonly cwd: string | null;
  readonly version: string;
  readonly gitBranch: string | null;
  readonly startedAt: Date;
  readonly lastActivityAt: Date;
  readonly lines: readonly TranscriptLine[];
  /** The messages in `lines`. */
  readonly messages: readonly TranscriptMessage[];
  readonly subagents: readonly ClaudeSubagent[];
  /** Copies of files before a change. A rewind needs these copies. */
  readonly backups: readonly FileCopy[];
  /** Outputs of tools that were too long for the transcript. The transcript contains only references to them. */
  readonly toolResults: readonly FileCopy[];
}

/** A file that Claude Code keeps for the session outside of its transcripts. */
export interface FileCopy {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The transcript of a subagent. */
export interface ClaudeSubagent {
  /** The subagent's path relative to the session: `subagents/agent-…`. */
  readonly subpath: string;
  readonly agentId: string;
  readonly parentAgentId: string | null;
  /** The tool call that the subagent worked on. */
  readonly toolUseId: string | null;
  readonly lines: readonly TranscriptLine[];
}

/** Reads the files of a session: all transcripts, copies of changed files, and long outputs of tools. */
export function readClaudeSession(found: FoundSession): ClaudeSession {
  if (!Uuid.safeParse(found.id).success)
    throw new KnownError("invalid", `Session ${found.id} has an id that is not a UUID, and cannot be adopted.`);
  const lines = linesOfFile(readFileSync(found.path), found.path);
  return {
    id: found.id,
    title: found.summary,
    cwd: found.projectPathSource === "folder" ? null : found.projectPath,
    version: found.version,
    gitBranch: found.gitBranch,
    startedAt: found.timestamp,
    lastActivityAt: found.lastActivityAt,
    lines,
    // Messages that were added to the file after `lines` was read are left out.
    messages: found.messages.filter(({ lineNumber }) => lineNumber <= lines.length),
    subagents: found.agents.flatMap(({ path, agentId, parentAgentId, toolUseId }) =>
      path === null
        ? []
        : [
            {
              subpath: subpathOf(path, { session: found.path, agentId }),
              agentId,
              parentAgentId,
              toolUseId,
              lines: [...linesOfFile(readFileSync(path), path), ...metaLine(path)],
            },
          ],
    ),
    backups: copiesIn(join(dataDirectoryOf(found.path), "file-history", found.id)),
    toolResults: copiesIn(join(found.path.slice(0, -".jsonl".length), "tool-results")),
  };
}

/** The largest file that is copied, in bytes. */
const MAXIMUM_COPY = 8 * 1024 * 1024;

function copiesIn(folder: string): readonly FileCopy[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && statSync(join(folder, file.name)).size <= MAXIMUM_COPY)
    .map(({ name }) => ({ name, bytes: readFileSync(join(folder, name)) }));
}

/** Returns the directory that contains `projects/FOLDER/SESSION.jsonl`. */
function dataDirectoryOf(path: string): string {
  return dirname(dirname(dirname(path)));
}

/**
 * Returns the path of a subagent's file relative to its session. Old versions of Claude Code put the file beside the
 * session's transcript.
 */
function subpathOf(path: string, { session, agentId }: { session: string; agentId: string }): string {
  const beside = relative(session.slice(0, -".jsonl".length), path).split(sep);
  const isInside = beside[0] === "subagents" && dirname(path) !== dirname(session);
  return isInside ? beside.join("/").slice(0, -".jsonl".length) : join("subagents", `agent-${agentId}`);
}

/** Returns the description of a subagent as a line of its transcript, as the SDK stores it. */
function metaLine(path: string): readonly TranscriptLine[] {
  const file = `${path.slice(0, -".jsonl".length)}.meta.json`;
  if (!existsSync(file)) return [];
  try {
    const entry = { type: "agent_metadata", ...(JSON.parse(readFileSync(file, "utf8")) as object) };
    return [{ text: JSON.stringify(entry), entry }];
  } catch {
    return [];
  }
}
