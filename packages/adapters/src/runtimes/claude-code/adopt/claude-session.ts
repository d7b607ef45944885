import { type JsonObject, KnownError, Uuid } from "@skein/protocol";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { type TranscriptLine, linesOfFile } from "./transcript-lines.ts";

/** The session as the history library describes it after reading its transcript. */
export interface FoundSession {
  readonly id: string;
  /** Its transcript. */
  readonly path: string;
  readonly summary: string | null;
  readonly projectPath: string;
  /** `folder`: the path is only guessed from the name of a folder. */
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

/** A message of a transcript, with what the history library knows about it: rewound, compacted, typed by a person. */
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
  /** What a person typed; null for lines that Claude Code wrote itself. */
  readonly humanPrompt: string | null;
}

/** An answer of the model, which has one line per block. */
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

/** A session of Claude Code as read from its files. */
export interface ClaudeSession {
  readonly id: string;
  readonly title: string | null;
  /** The project of the session; null if only the name of its folder is known. */
  readonly cwd: string | null;
  readonly version: string;
  readonly gitBranch: string | null;
  readonly startedAt: Date;
  readonly lastActivityAt: Date;
  readonly lines: readonly TranscriptLine[];
  /** The messages of `lines`. */
  readonly messages: readonly TranscriptMessage[];
  readonly subagents: readonly ClaudeSubagent[];
  /** Copies of files from before they were changed, which a rewind needs. */
  readonly backups: readonly FileCopy[];
  /** Outputs of tools that were too long for the transcript. The transcript contains only references to them. */
  readonly toolResults: readonly FileCopy[];
}

/** A file that is kept beside a transcript. */
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

/** Reads the files of a session: its transcript, those of its subagents, and the copies of files beside them. */
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

/** Larger files are not copied. */
const MAXIMUM_COPY = 8 * 1024 * 1024;

function copiesIn(folder: string): readonly FileCopy[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && statSync(join(folder, file.name)).size <= MAXIMUM_COPY)
    .map(({ name }) => ({ name, bytes: readFileSync(join(folder, name)) }));
}

/** The directory of `projects/FOLDER/SESSION.jsonl`. */
function dataDirectoryOf(path: string): string {
  return dirname(dirname(dirname(path)));
}

/**
 * The path of a subagent's file relative to its session. Old versions of Claude Code put the file into the folder of the
 * session's transcript.
 */
function subpathOf(path: string, { session, agentId }: { session: string; agentId: string }): string {
  const beside = relative(session.slice(0, -".jsonl".length), path).split(sep);
  const isInside = beside[0] === "subagents" && dirname(path) !== dirname(session);
  return isInside ? beside.join("/").slice(0, -".jsonl".length) : join("subagents", `agent-${agentId}`);
}

/** The description of a subagent as an entry of its transcript, as in the SDK's own stores. */
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
