import type { LibraryConfig } from "../config.ts";
import type { Message, Session, ToolCall, ToolResult, ToolUseContent } from "../model/types.ts";
import { objectOf, stringOf } from "../model/value.ts";
import { getSession } from "./get-session.ts";

/** Returns every tool call of a session with its result. */
export async function getToolCalls(
  idOrIndex: number | string,
  config: LibraryConfig = {},
): Promise<readonly ToolCall[]> {
  const session = await getSession(idOrIndex, config);
  return toolCallsOf(session);
}

/**
 * Joins calls and results. A call without a result has `result: null`. A call that was recorded twice is listed once.
 */
export function toolCallsOf(session: Pick<Session, "messages" | "agents">): readonly ToolCall[] {
  const results = new Map<string, { result: ToolResult; message: Message }>();
  for (const message of session.messages) {
    for (const result of toolResultsOf(message)) {
      if (!results.has(result.toolUseId)) results.set(result.toolUseId, { result, message });
    }
  }
  const agents = new Map(session.agents.map(({ toolUseId, agentId }) => [toolUseId, agentId]));
  const calls = new Map<string, ToolCall>();
  for (const message of session.messages) {
    for (const { id, name, input } of toolUsesOf(message)) {
      if (calls.has(id)) continue;
      const answer = results.get(id);
      const toolUseResult = answer?.message.raw["toolUseResult"] ?? null;
      calls.set(id, {
        id,
        name,
        input,
        result: answer?.result.content ?? null,
        isError: answer?.result.isError ?? false,
        timestamp: message.timestamp,
        messageUuid: message.uuid,
        resultUuid: answer?.message.uuid ?? null,
        durationMs: answer ? Math.max(0, answer.message.timestamp.getTime() - message.timestamp.getTime()) : null,
        toolUseResult,
        agentId: agents.get(id) ?? stringOf(objectOf(toolUseResult)["agentId"]),
      });
    }
  }
  return [...calls.values()];
}

function toolUsesOf(message: Message): readonly ToolUseContent[] {
  if (message.role !== "assistant") return [];
  return message.content.filter((block): block is ToolUseContent => block.type === "tool_use" && "name" in block);
}

function toolResultsOf(message: Message): readonly ToolResult[] {
  if (message.role !== "user" || typeof message.content === "string") return [];
  return message.content.filter((block): block is ToolResult => block.type === "tool_result");
}
