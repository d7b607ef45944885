/** Writes one session of an agent other than Claude Code as lines in Claude Code's format. */
import { createHash } from "node:crypto";
import { aboutDamage } from "./about-damage.ts";
import { folderPath } from "./folder-path.ts";

export interface WriterOptions {
  readonly source: string;
  readonly sessionId: string;
  /** Receives each line with its line feed. */
  readonly onLine: (line: string) => void;
  /** Receives an incomplete record at the end of a file. The agent is still writing it, or was killed. */
  readonly onTorn?: (text: string) => void;
}

/**
 * The tokens of one model call. `input` does not include cached tokens, and is null if the agent does not report it.
 * `output` includes `reasoning`.
 */
export interface CallTokens {
  readonly input: number | null;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** The tokens of `cacheWrite` that are cached for an hour. */
  readonly cacheWrite1h?: number;
  readonly reasoning?: number;
}

/** Fields that every line may have. */
export interface Placed {
  /** The time in milliseconds or as ISO text. Without a value, the time is unknown. */
  readonly at?: number | string | null | undefined;
  /** The place of the original, which `TranslatedSource.original` reads. */
  readonly from: string;
  /** The id of the message in the agent's files. The uuid of the line is made from this id. */
  readonly id?: string | undefined;
  /** The uuid of the previous line of the conversation, or null for its first line. Default: the last line. */
  readonly parent?: string | null;
  /** The subagent that wrote the line, if its conversation is among the lines of the parent. */
  readonly side?: string | undefined;
}

interface Answer extends Placed {
  /** The id of the call. A copy of the call in a fork has the same id, so the call counts once. */
  readonly call: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly tokens?: CallTokens | undefined;
  readonly stopReason?: string | null | undefined;
  /** The cost that the agent reports for the call. */
  readonly reportedUsd?: number | undefined;
}

export interface ParentSession {
  readonly sessionId: string;
  readonly callId?: string | null | undefined;
  readonly type?: string | null | undefined;
  readonly description?: string | null | undefined;
}

export type Block = Readonly<Record<string, unknown>>;

/**
 * The part of a session that the reader needs. `head` is the folder and the parent, so reading ends at the first
 * message. `usage` is only model calls with tokens, so a source may leave out other records. `transcript` is
 * everything.
 */
type Wanted = "head" | "usage" | "transcript";

export interface TranscriptWriter {
  readonly wants: Wanted;
  /** Sets the folder, the branch and the version. The following lines get these values. */
  place(at: {
    readonly cwd?: string | null | undefined;
    readonly branch?: string | null | undefined;
    readonly version?: string | null | undefined;
  }): void;
  /** Sets the parent of this session, which is a subagent. The call that started it may be unknown. */
  subagentOf(parent: ParentSession): void;
  title(text: string | null | undefined, from: string): void;
  /** Writes a message of a person, or of the agent's program if `isMeta`. Returns the uuid of the line. */
  user(content: string | readonly Block[], placed: Placed & { readonly isMeta?: boolean }): string;
  answer(answer: Answer): string;
  result(
    callId: string,
    content: unknown,
    placed: Placed & { readonly isError?: boolean; readonly details?: unknown },
  ): string;
  /** Writes a model call that belongs to no message, for example a compaction or a summary. */
  usage(
    call: string,
    model: string,
    tokens: CallTokens,
    placed: Placed & { readonly reportedUsd?: number | undefined },
  ): void;
  compaction(summary: string | null, placed: Placed): void;
  /** Writes a record for which no other function exists. The line contains the unchanged record. */
  other(type: string, value: Block, placed: Placed): void;
  /** Writes an unreadable line unchanged. A torn line is the last line of its file and has no line feed. */
  damage(text: string, isTorn?: boolean): void;
  /** Writes an unchanged line, which must be in Claude Code's format. */
  copy(line: string): void;
  /** The uuid of the last line of the conversation so far. */
  readonly last: string | null;
  /** Returns the uuid of the line that has this id. */
  uuidOf(id: string): string;
  /** The folder and the parent, as far as they are known. */
  readonly head: WriterHead;
}

export interface WriterHead {
  readonly cwd: string | null;
  readonly parent: { readonly sessionId: string; readonly meta: Readonly<Record<string, string>> } | undefined;
}

/** Returns the parent in the form in which it is stored beside the lines of a subagent. */
export function parentOf({ sessionId, callId, type, description }: ParentSession): WriterHead["parent"] {
  const meta = {
    ...(callId && { toolUseId: callId }),
    ...(type && { agentType: type }),
    ...(description && { description }),
  };
  return { sessionId, meta };
}

export function createTranscriptWriter({ source, sessionId, onLine, onTorn }: WriterOptions): TranscriptWriter {
  let cwd: string | null = null;
  let branch: string | null = null;
  let version: string | null = null;
  let parent: WriterHead["parent"];
  let last: string | null = null;
  const lastOfSide = new Map<string, string>();
  const uuidOf = (id: string): string => toUuid(`${source}\0${id}`);

  const write = (line: string): void => onLine(`${line}\n`);
  /** Writes a record. Returns false if it is nested too deeply. */
  const emit = (value: Block & { readonly from: string }): boolean => {
    let line: string;
    try {
      line = JSON.stringify(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      write(`${aboutDamage}${value.from}: a record that is nested too deeply or is too long`);
      return false;
    }
    write(line);
    return true;
  };
  /**
   * Writes a line that has a parent, and returns its uuid. The keys have the order of Claude Code, because the fast
   * readers depend on this order.
   */
  const chained = (placed: Placed, body: Block, tail: Block = {}): string => {
    const uuid = uuidOf(placed.id === undefined ? `${sessionId}\0${placed.from}` : `${sessionId}\0${placed.id}`);
    const time = timeOf(placed.at);
    const { side } = placed;
    const before = side === undefined ? last : (lastOfSide.get(side) ?? null);
    const isWritten = emit({
      parentUuid: placed.parent === undefined ? before : placed.parent,
      isSidechain: parent !== undefined || side !== undefined,
      userType: "external",
      ...(cwd !== null && { cwd }),
      sessionId: parent?.sessionId ?? sessionId,
      ...(version !== null && { version }),
      ...(branch !== null && { gitBranch: branch }),
      ...(parent ? { agentId: sessionId } : side !== undefined && { agentId: side }),
      ...body,
      uuid,
      ...(time !== undefined && { timestamp: time }),
      from: placed.from,
      ...tail,
    });
    if (!isWritten) return before ?? "";
    if (side === undefined) last = uuid;
    else lastOfSide.set(side, uuid);
    return uuid;
  };
  return {
    wants: "transcript",
    place(at) {
      cwd = at.cwd ? folderPath(at.cwd) : cwd;
      branch = at.branch || branch;
      version = at.version || version;
    },
    subagentOf: (found) => void (parent = parentOf(found)),
    title(text, from) {
      // A subagent gets no title line, because its name is in the file beside its lines.
      if (text && !parent) emit({ type: "custom-title", customTitle: text, sessionId, from });
    },
    user: (content, placed) =>
      chained(placed, {
        ...(placed.isMeta === true && { isMeta: true }),
        type: "user",
        message: { role: "user", content },
      }),
    answer(answer) {
      const message = {
        id: answer.call,
        type: "message",
        role: "assistant",
        model: answer.model || "unknown",
        content: answer.content,
        stop_reason: answer.stopReason ?? null,
        stop_sequence: null,
        ...(answer.tokens && { usage: usageOf(answer.tokens) }),
      };
      return chained(answer, { type: "assistant", message }, costOf(answer));
    },
    result(callId, content, placed) {
      const block = {
        type: "tool_result",
        tool_use_id: callId,
        content: typeof content === "string" || Array.isArray(content) ? content : JSON.stringify(content ?? ""),
        ...(placed.isError === true && { is_error: true }),
      };
      const details = placed.details === undefined ? {} : { toolUseResult: placed.details };
      return chained(placed, { type: "user", message: { role: "user", content: [block] } }, details);
    },
    usage(call, model, tokens, placed) {
      const timestamp = timeOf(placed.at);
      // The call has no message, so it is written as Claude Code 2.1 wrote the calls of subagents.
      const message = { type: "assistant", message: { id: call, model: model || "unknown", usage: usageOf(tokens) } };
      emit({
        type: "progress",
        sessionId: parent?.sessionId ?? sessionId,
        ...(cwd !== null && { cwd }),
        data: { type: "agent_progress", message },
        ...(timestamp !== undefined && { timestamp }),
        from: placed.from,
        ...costOf(placed),
      });
    },
    compaction(summary, placed) {
      chained(placed, { type: "system", subtype: "compact_boundary", content: "Conversation compacted" });
      if (summary === null) return;
      chained(
        { ...placed, id: `${placed.id ?? placed.from}\0summary` },
        { isCompactSummary: true, type: "user", message: { role: "user", content: summary } },
      );
    },
    other(type, value, placed) {
      const timestamp = timeOf(placed.at);
      emit({
        type: `${source}:${type}`,
        sessionId,
        ...(timestamp !== undefined && { timestamp }),
        from: placed.from,
        value,
      });
    },
    damage(text, isTorn = false) {
      const line = text.replaceAll("\n", " ");
      if (isTorn && onTorn) onTorn(line);
      else write(line);
    },
    copy: (line) => write(line),
    get last() {
      return last;
    },
    uuidOf: (id) => uuidOf(`${sessionId}\0${id}`),
    get head() {
      return { cwd, parent };
    },
  };
}

function costOf({ reportedUsd }: { readonly reportedUsd?: number | undefined }): Block {
  return reportedUsd === undefined ? {} : { reportedCostUSD: reportedUsd };
}

function usageOf(tokens: CallTokens): Block {
  const { input, output, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0, reasoning = 0 } = tokens;
  return {
    ...(input !== null && {
      input_tokens: whole(input),
      cache_creation_input_tokens: whole(cacheWrite),
      cache_read_input_tokens: whole(cacheRead),
    }),
    output_tokens: whole(output),
    ...(cacheWrite1h > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: whole(cacheWrite - cacheWrite1h),
        ephemeral_1h_input_tokens: whole(cacheWrite1h),
      },
    }),
    ...(reasoning > 0 && { output_tokens_details: { reasoning_tokens: whole(reasoning) } }),
  };
}

export function whole(count: number): number {
  return Number.isFinite(count) && count > 0 ? Math.round(count) : 0;
}

/** Returns the time as ISO text. A time outside the range of a date counts as unknown. */
function timeOf(at: Placed["at"]): string | undefined {
  const time = millisecondsOf(at);
  return time === 0 ? undefined : new Date(time).toISOString();
}

/** Returns the time in milliseconds, or 0 if the time is unknown. */
export function millisecondsOf(at: Placed["at"]): number {
  if (at === null || at === undefined || at === "") return 0;
  return (typeof at === "string" ? Date.parse(at) : new Date(at).getTime()) || 0;
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Returns a UUID for an id. If the last part of the id is a UUID, returns this part. If not, derives a UUID (version 8)
 * from the id.
 */
function toUuid(id: string): string {
  const own = id.slice(id.lastIndexOf("\0") + 1);
  if (uuidForm.test(own)) return own.toLowerCase();
  const hex = createHash("sha256").update(id).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
