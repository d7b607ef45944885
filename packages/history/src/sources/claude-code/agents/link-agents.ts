/**
 * Finds the tool call that started a subagent. Versions of Claude Code left different traces of this call. The most
 * reliable trace is tried first.
 */
import { readFileSync } from "node:fs";
import type { DataFile } from "../../../model/data-file.ts";
import { AgentMeta } from "../format/other-files.ts";
import type { AgentSummary, Message } from "../../../model/types.ts";
import { arrayOf, objectOf, stringOf } from "../../../model/value.ts";
import { resultText } from "../transcript/to-message.ts";

type Linked = Pick<AgentSummary, "toolUseId" | "linkedBy">;

/**
 * Finds the subagents of a session. A subagent has a file, or only lines of the type `progress` in the parent's file.
 */
export function linkAgents(
  parentSessionId: string,
  messages: readonly Message[],
  files: readonly DataFile[],
  promptOf: (file: DataFile) => string,
): readonly AgentSummary[] {
  const traces = collectTraces(messages);
  const agents = files.map((file): AgentSummary => {
    const agentId = file.agentId ?? "";
    const meta = metaOf(file);
    return {
      agentId,
      parentSessionId,
      agentType: meta.agentType ?? null,
      description: meta.description ?? null,
      ...linkOf(agentId, meta, traces, () => promptOf(file)),
      parentAgentId: meta.parentAgentId ?? null,
      workflowId: file.workflowId ?? null,
      path: file.path,
    };
  });
  const known = new Set(agents.map(({ agentId }) => agentId));
  for (const [agentId, toolUseId] of traces.byProgress) {
    if (known.has(agentId)) continue;
    agents.push({
      agentId,
      parentSessionId,
      agentType: null,
      description: null,
      toolUseId,
      linkedBy: "progress",
      parentAgentId: null,
      workflowId: null,
      path: null,
    });
  }
  return agents;
}

interface Traces {
  readonly byResult: ReadonlyMap<string, string>;
  readonly byText: ReadonlyMap<string, string>;
  readonly byNotification: ReadonlyMap<string, string>;
  readonly byProgress: ReadonlyMap<string, string>;
  readonly byPrompt: ReadonlyMap<string, string>;
}

function linkOf(agentId: string, meta: AgentMeta, traces: Traces, prompt: () => string): Linked {
  const link = (toolUseId: string | undefined, linkedBy: AgentSummary["linkedBy"]): Linked | undefined =>
    toolUseId === undefined ? undefined : { toolUseId, linkedBy };
  return (
    link(meta.toolUseId ?? undefined, "meta") ??
    link(traces.byResult.get(agentId), "result") ??
    link(traces.byText.get(agentId), "text") ??
    link(traces.byNotification.get(agentId), "notification") ??
    link(traces.byProgress.get(agentId), "progress") ??
    link(traces.byPrompt.get(normalisePrompt(prompt())), "prompt") ?? { toolUseId: null, linkedBy: null }
  );
}

function collectTraces(messages: readonly Message[]): Traces {
  const byResult = new Map<string, string>();
  const byText = new Map<string, string>();
  const byNotification = new Map<string, string>();
  const byProgress = new Map<string, string>();
  const byPrompt = new Map<string, string>();
  for (const { raw, type } of messages) {
    const content = objectOf(raw["message"])["content"];
    if (type === "user") {
      const agentId = stringOf(objectOf(raw["toolUseResult"])["agentId"]);
      for (const block of arrayOf(content).map(objectOf)) {
        const toolUseId = stringOf(block["tool_use_id"]);
        if (block["type"] !== "tool_result" || toolUseId === null) continue;
        if (agentId !== null) byResult.set(agentId, toolUseId);
        const named = /\bagentId: ?([0-9a-f]{6,17}|a[0-9a-f]{16})\b/.exec(
          resultText(block["content"]).slice(-2000),
        )?.[1];
        if (named !== undefined) byText.set(named, toolUseId);
      }
      noteNotification(typeof content === "string" ? content : resultText(content), byNotification);
    } else if (type === "queue-operation") {
      noteNotification(typeof raw["content"] === "string" ? raw["content"] : "", byNotification);
    } else if (type === "progress") {
      const agentId = stringOf(objectOf(raw["data"])["agentId"]);
      const toolUseId = stringOf(raw["parentToolUseID"]) ?? stringOf(raw["toolUseID"]);
      if (agentId !== null && toolUseId !== null && !byProgress.has(agentId)) byProgress.set(agentId, toolUseId);
    }
  }
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const block of message.content) {
      if (block.type !== "tool_use") continue;
      const { id, name, input } = block as { id: string; name: string; input: object };
      if (name !== "Task" && name !== "Agent") continue;
      const prompt = stringOf((input as { prompt?: unknown }).prompt);
      if (prompt !== null) byPrompt.set(normalisePrompt(prompt), id);
    }
  }
  return { byResult, byText, byNotification, byProgress, byPrompt };
}

function noteNotification(text: string, into: Map<string, string>): void {
  if (!text.includes("<task-notification>")) return;
  const task = /<task-id>([^<]+)<\/task-id>/.exec(text)?.[1];
  const call = /<tool-use-id>([^<]+)<\/tool-use-id>/.exec(text)?.[1];
  if (task !== undefined && call !== undefined) into.set(task, call);
}

function normalisePrompt(prompt: string): string {
  return prompt.replaceAll(/\s+/g, " ").trim();
}

function metaOf(file: DataFile): AgentMeta {
  try {
    const path = `${file.path.slice(0, -".jsonl".length)}.meta.json`;
    return AgentMeta.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return {};
  }
}
