import type { LibraryConfig } from "../config.ts";
import type { DataFile } from "../model/data-file.ts";
import { discover } from "../sources/discover.ts";
import { SessionNotFoundError } from "../errors.ts";
import { parentOf } from "../sources/claude-code/agents/agent-files.ts";
import type { AgentSession, AgentSummary, AssistantMessage, FileDamage, Message } from "../model/types.ts";
import { numberOf, objectOf, stringOf } from "../model/value.ts";
import { createMessageBuilder, resultText } from "../sources/claude-code/transcript/to-message.ts";
import { firstPromptOf } from "../sources/claude-code/agents/agent-prompt.ts";
import type { linkAgents } from "../sources/claude-code/agents/link-agents.ts";
import { readTranscript } from "../sources/claude-code/transcript/read-transcript.ts";

/** Reads the conversation of a subagent, with its duration, tokens and tool calls. The id may begin with `agent-`. */
export async function getAgentSession(agentId: string, config: LibraryConfig = {}): Promise<AgentSession> {
  const { linkAgents } = await import("../sources/claude-code/agents/link-agents.ts");
  const wanted = agentId.replace(/^agent-/, "");
  const { files } = discover(config);
  const agents = files.filter((file) => file.kind === "agent");
  const file =
    agents.find((found) => found.agentId === wanted) ??
    onlyOne(agents.filter((found) => found.agentId?.startsWith(wanted)));
  const parent = file ? parentFileOf(file, files) : undefined;
  if (!file) return inlineAgent(wanted, agentId, files, linkAgents);
  const { messages, damage } = readTranscript(file.path, new Date(file.mtimeMs));
  const parentMessages = parent ? readTranscript(parent.path, new Date(parent.mtimeMs)).messages : [];
  const sessionId = file.sessionId ?? parentOf(file) ?? "";
  const [summary] = linkAgents(sessionId, parentMessages, [file], firstPromptOf);
  if (!summary) throw new SessionNotFoundError(agentId);
  return describe(summary, messages, damage, resultOf(summary, parentMessages));
}

function onlyOne<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}

function parentFileOf(file: DataFile, files: readonly DataFile[]): DataFile | undefined {
  const sessionId = file.sessionId ?? parentOf(file);
  const mains = files.filter((found) => found.kind === "session" && found.sessionId === sessionId);
  return mains.find((found) => found.encodedPath === file.encodedPath) ?? mains[0];
}

/**
 * Reads a subagent from lines of the type `progress` in the parent's file. Claude Code 2.1.12 to 2.1.8x wrote such
 * lines.
 */
function inlineAgent(
  wanted: string,
  agentId: string,
  files: readonly DataFile[],
  link: typeof linkAgents,
): AgentSession {
  for (const file of wanted === "" ? [] : files) {
    if (file.kind !== "session") continue;
    const { messages } = readTranscript(file.path, new Date(file.mtimeMs));
    const lines = messages.filter((message) => stringOf(objectOf(message.raw["data"])["agentId"]) === wanted);
    if (lines.length === 0) continue;
    const builder = createMessageBuilder(new Date(file.mtimeMs));
    const own = lines.flatMap(({ raw, lineNumber }) => {
      const inner = objectOf(objectOf(raw["data"])["message"]);
      const value = { ...raw, ...inner, isSidechain: true };
      return builder.add({ line: lineNumber, offset: 0, length: 0, value }) ?? [];
    });
    const summary = link(file.sessionId ?? "", messages, [], () => "").find((found) => found.agentId === wanted);
    if (summary) return describe(summary, own, [], resultOf(summary, messages));
  }
  throw new SessionNotFoundError(agentId);
}

/** Finds the result that the parent recorded when the subagent ended. */
function resultOf(summary: AgentSummary, parentMessages: readonly Message[]): Readonly<Record<string, unknown>> {
  for (const { raw } of parentMessages) {
    const result = objectOf(raw["toolUseResult"]);
    if (result["agentId"] === summary.agentId && result["isAsync"] !== true) return result;
  }
  return {};
}

function describe(
  summary: AgentSummary,
  messages: readonly Message[],
  damage: readonly FileDamage[],
  recorded: Readonly<Record<string, unknown>>,
): AgentSession {
  const answers = messages.filter((message): message is AssistantMessage => message.role === "assistant");
  const times = messages
    .filter((message) => !message.timestampIsInferred)
    .map((message) => message.timestamp.getTime());
  const first = messages.find((message) => message.role === "user");
  const measured = times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
  return {
    ...summary,
    agentType: summary.agentType ?? stringOf(recorded["agentType"]),
    prompt: first ? resultText(first.content) : (stringOf(recorded["prompt"]) ?? ""),
    model:
      answers.find(({ model }) => model !== "" && model !== "<synthetic>")?.model ??
      stringOf(recorded["resolvedModel"]) ??
      "",
    messages,
    totalDurationMs: numberOf(recorded["totalDurationMs"]) ?? measured,
    totalTokens: answers.reduce((sum, { usage }) => sum + tokensOf(usage), 0),
    totalToolUseCount: answers.reduce(
      (sum, { content }) => sum + content.filter(({ type }) => type === "tool_use").length,
      0,
    ),
    damage,
  };
}

function tokensOf(usage: AssistantMessage["usage"]): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheCreationInputTokens + usage.cacheReadInputTokens;
}
