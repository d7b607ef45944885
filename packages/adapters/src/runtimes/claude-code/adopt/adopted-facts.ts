import { checkpointCreated, subagentMessaged, transcriptAppended } from "@skein/core";
import {
  type ContentBlock,
  type Fact,
  type Ids,
  type JsonObject,
  Uuid,
  blocksOf,
  happenedThen,
  textOf,
} from "@skein/protocol";
import { type AdoptedRun, beginRun } from "./adopted-run.ts";
import { type Answer, answerOf, contentOf, isMadeUp, messageOf } from "./model-answers.ts";
import { checkpointsOf } from "./checkpoints.ts";
import type {
  AnswerLines,
  ClaudeSession,
  ClaudeSubagent,
  FileCopy,
  TranscriptMessage,
  UserLine,
} from "./claude-session.ts";
import { TOOL_RESULTS, type TranscriptLine, linesFact } from "./transcript-lines.ts";
import { BACKUPS } from "../transcript.ts";

/** The largest number of lines in a fact. Without this limit, a fact would grow with its session. */
const LINES_OF_A_FACT = 200;

const INTERRUPTION = /^\s*\[Request interrupted by user[^\]]*\]\s*$/;

/**
 * Converts a session of Claude Code to facts (the contents of log events): its unchanged lines, and the messages, runs
 * and calls of its conversation. The history library has marked lines that a rewind removed, and lines before a
 * compaction.
 */
export function adoptedFacts(session: ClaudeSession, ids: Ids): readonly Fact[] {
  const facts: Fact[] = [];
  /** Adds facts with the time at which they happened. Without this, an old session would look like work of today. */
  const write = (then: number, ...more: readonly Fact[]): void => {
    // Some coding agents write no times.
    const at = then > 0 ? new Date(then).toISOString() : undefined;
    for (const fact of more) facts.push(at === undefined ? fact : happenedThen(fact, at));
  };
  const transcript = { messages: 0, tokens: 0 };
  const byUuid = new Map<unknown, JsonObject>();
  for (const { entry } of session.lines) if (entry) byUuid.set(entry["uuid"], entry);
  const resultsOf = resultIdsByCall(session.messages, ids);
  const checkpoints = checkpointsOf(session);
  const subagents = new Set(session.subagents);
  const seen = new Set<string>();
  let written = 0;
  const current: { run: AdoptedRun | null } = { run: null };
  /** The times of the current message and of the previous message. */
  let time = session.startedAt.getTime();
  let lastTime = time;
  /** A user line that no person typed. The line begins a run if the model answers the line. */
  let unanswered: UserLine | null = null;
  /** Answers that a rewind removed, from the time before the first run. */
  const leftBehind: Answer[] = [];

  function writeLines(until: number): void {
    while (written < until) {
      const end = Math.min(until, written + LINES_OF_A_FACT);
      write(time, linesFact(session.lines.slice(written, end), null));
      written = end;
    }
  }

  /** Returns Claude Code's id. If this id is missing or not valid in Skein, returns a new id. */
  function idOf({ uuid }: TranscriptMessage): string {
    const id = Uuid.safeParse(uuid).success && !seen.has(uuid) ? uuid : ids();
    seen.add(id);
    return id;
  }

  /** Returns the lines of an answer. */
  function entriesOf(message: AnswerLines): readonly JsonObject[] {
    const entries = message.lineUuids.map((uuid) => byUuid.get(uuid)).filter((entry) => entry !== undefined);
    return entries.length === 0 ? [message.raw] : entries;
  }

  function begin(message: UserLine | null): AdoptedRun {
    // A run ends at the time of its last message. The next message may come days later.
    current.run?.end(lastTime);
    const content = message ? contentOf(message.raw) : "";
    const messageId = message ? idOf(message) : ids();
    const run = beginRun({ content, messageId, time }, { ids, write, transcript });
    current.run = run;
    for (const answer of leftBehind.splice(0)) run.leftBehind(answer, time);
    const checkpoint = checkpoints.get(messageId);
    if (checkpoint)
      write(time, checkpointCreated({ checkpointId: ids(), userMessageId: messageId, filesModified: checkpoint }));
    return run;
  }

  function said(message: UserLine): void {
    const content = contentOf(message.raw);
    const results = blocksOf(content).filter(({ type }) => type === "tool_result");
    for (const result of results) {
      const toolUseId = String(result["tool_use_id"]);
      for (const agent of subagents) if (callOf(agent, session.subagents) === toolUseId) tell(agent);
      current.run?.resulted({
        toolUseId,
        content: resultContent(result),
        isError: result["is_error"] === true,
        time,
      });
    }
    if (results.length > 0 || message.raw["isMeta"] === true || message.raw["isCompactSummary"] === true) return;
    if (INTERRUPTION.test(textOf(content)))
      current.run?.failed({ code: "interrupted", message: "The run was interrupted." });
    else if (message.humanPrompt !== null) begin(message);
    else unanswered = message;
  }

  function answered(message: AnswerLines): void {
    const entries = entriesOf(message);
    if (isMadeUp(message.raw)) {
      const status = message.raw["apiErrorStatus"];
      current.run?.failed({
        code: "model_error",
        message: textOf(answerOf(entries).content as ContentBlock[]),
        ...(Number.isInteger(status) && { status: status as number }),
      });
      return;
    }
    const isNewRun = !current.run || (unanswered !== null && current.run.isAnswered());
    const run = current.run && !isNewRun ? current.run : begin(unanswered);
    unanswered = null;
    const messageId = idOf(message);
    run.answered(answerOf(entries), { messageId, resultsMessageId: resultsOf(message), time });
  }

  /** Writes the transcript of a subagent. Adds its messages and usage to the current run. */
  function tell(agent: ClaudeSubagent): void {
    subagents.delete(agent);
    for (let at = 0; at < agent.lines.length; at += LINES_OF_A_FACT)
      write(time, linesFact(agent.lines.slice(at, at + LINES_OF_A_FACT), agent.subpath));
    if (current.run) write(time, ...subagentFacts(agent, current.run, ids));
  }

  for (const message of session.messages) {
    lastTime = time;
    // Lines without a time, such as a title, have the time of the file. They do not change the time here.
    if (!message.timestampIsInferred) time = Math.max(time, message.timestamp.getTime());
    const isOnThread = (message.isActive || message.isCompacted) && !message.isSidechain;
    if (seen.has(message.uuid)) continue;
    if (message.role === "assistant" && !isOnThread) {
      if (!isMadeUp(message.raw)) {
        const answer = answerOf(entriesOf(message));
        if (current.run) current.run.leftBehind(answer, time);
        else leftBehind.push(answer);
      }
      continue;
    }
    if (!isOnThread || !isTelling(message)) continue;
    writeLines(message.lineNumber);
    if (message.role === "user") said(message);
    else if (message.role === "assistant") answered(message);
    else if (message.humanPrompt !== null)
      current.run?.steered(message.humanPrompt, { messageId: idOf(message), time });
    else {
      const { subtype } = message.raw;
      current.run?.noticed({
        messageId: idOf(message),
        subtype: typeof subtype === "string" ? subtype : "system",
        entry: message.raw,
        time,
      });
    }
  }
  writeLines(session.lines.length);
  write(time, ...session.backups.map((copy) => copyFact(copy, BACKUPS)));
  write(time, ...session.toolResults.map((copy) => copyFact(copy, TOOL_RESULTS)));
  for (const agent of subagents) tell(agent);
  current.run?.end(time);
  return facts;
}

/** Recognises messages and notices. Other lines are stored together with the next message or notice. */
function isTelling({ role, type, ...message }: TranscriptMessage): boolean {
  return (
    role !== undefined ||
    type === "system" ||
    (type === "attachment" && "humanPrompt" in message && message.humanPrompt !== null)
  );
}

/** Returns the fact for a copy of a file, in the form in which the runtime stores its copies. */
function copyFact({ name, bytes }: FileCopy, place: string): Fact {
  const entry = { type: "file-history-backup", name, data: Buffer.from(bytes).toString("base64") };
  return transcriptAppended([entry], `${place}${name}`);
}

/**
 * Returns a function that finds the results of an answer's calls. The function returns the id of the first user line
 * with such a result, or a new id.
 */
function resultIdsByCall(messages: readonly TranscriptMessage[], ids: Ids): (answer: AnswerLines) => string {
  const byCall = new Map<string, string>();
  for (const message of messages) {
    if (message.role !== "user" || message.isSidechain) continue;
    for (const block of blocksOf(contentOf(message.raw)))
      if (block.type === "tool_result" && !byCall.has(String(block["tool_use_id"])))
        byCall.set(String(block["tool_use_id"]), message.uuid);
  }
  return ({ content }) => {
    const calls = content.flatMap((block) =>
      block.type === "tool_use" ? [String((block as { id?: string }).id)] : [],
    );
    const uuid = calls.map((id) => byCall.get(id)).find((found) => found !== undefined);
    return uuid !== undefined && Uuid.safeParse(uuid).success ? uuid : ids();
  };
}

function resultContent(result: ContentBlock): string | ContentBlock[] {
  const { content } = result;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? (content as ContentBlock[]) : "";
}

/** Returns the session's tool call that started a subagent, directly or through another subagent. */
function callOf(agent: ClaudeSubagent, all: readonly ClaudeSubagent[]): string | null {
  const parent = all.find(({ agentId }) => agentId === agent.parentAgentId && agentId !== agent.agentId);
  return parent
    ? callOf(
        parent,
        all.filter((other) => other !== agent),
      )
    : agent.toolUseId;
}

/**
 * Returns the messages of a subagent as facts. Counts the usage of an answer once, even if the answer has several
 * lines.
 */
function subagentFacts({ lines, toolUseId, agentId }: ClaudeSubagent, run: AdoptedRun, ids: Ids): readonly Fact[] {
  const entries = lines.flatMap(({ entry }: TranscriptLine) => (entry ? [entry] : []));
  const answers = Map.groupBy(
    entries.filter(({ type }) => type === "assistant"),
    (entry) => messageOf(entry)["id"] ?? entry,
  );
  const counted = new Set<unknown>();
  return entries.flatMap((entry): readonly Fact[] => {
    const { type, uuid } = entry;
    if (type !== "user" && type !== "assistant") return [];
    const id = messageOf(entry)["id"] ?? entry;
    const isFirst = type === "assistant" && !counted.has(id) && !isMadeUp(entry);
    counted.add(id);
    const answer = isFirst ? answerOf(answers.get(id) ?? [entry]) : null;
    if (answer) run.counted(answer);
    const { model } = messageOf(entry);
    return [
      subagentMessaged({
        runId: run.id,
        messageId: Uuid.safeParse(uuid).success ? (uuid as string) : ids(),
        parentToolUseId: toolUseId ?? agentId,
        role: type,
        content: contentOf(entry),
        model: typeof model === "string" ? model : null,
        usage: answer?.usage ?? null,
        price: answer?.price,
      }),
    ];
  });
}
