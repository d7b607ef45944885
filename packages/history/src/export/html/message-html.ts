/** One message as a section of the page. */
import type { Message, Session, ToolResult } from "../../model/types.ts";
import { objectOf, stringOf, type Value } from "../../model/value.ts";
import { toolCallsOf } from "../../get/get-tool-calls.ts";
import { unknownLine } from "../transcript-parts.ts";
import { isKnownLineType } from "../../sources/claude-code/format/known-line-types.ts";
import { codeHtml, terminalHtml } from "./code-html.ts";
import { timeHtml } from "./dates.ts";
import { escapeHtml } from "./escape-html.ts";
import { markdownHtml } from "./markdown-html.ts";
import { foldedHtml, taggedHtml } from "./tagged-html.ts";
import { imageHtml, toolHtml } from "./tool-html.ts";

export type Conversation = Pick<Session, "messages" | "agents">;

/** The data that the messages of one conversation share. */
export interface View {
  /** Makes an HTML id that is unique on the page, from the id of a message or a subagent. */
  anchor(id: string): string;
  readonly results: ReadonlyMap<string, ToolResult>;
  readonly calls: ReadonlyMap<string, ReturnType<typeof toolCallsOf>[number]>;
  /** The calls that are shown together with their result. For these calls, the result is not shown again. */
  readonly shownCalls: ReadonlySet<string>;
  /** The subagents that are on the page. */
  readonly agentIds: ReadonlySet<string>;
  /** The name of the agent that answers in this conversation. */
  readonly speaker: string;
  /** The name of the program that adds texts to the conversation. */
  readonly program: string;
}

export function viewOf(
  conversation: Conversation,
  given: Pick<View, "anchor" | "agentIds" | "speaker" | "program">,
): View {
  const results = new Map<string, ToolResult>();
  for (const message of conversation.messages) {
    if (message.role !== "user" || typeof message.content === "string") continue;
    for (const block of message.content)
      if (isResult(block) && !results.has(block.toolUseId)) results.set(block.toolUseId, block);
  }
  const calls = new Map(toolCallsOf(conversation).map((call) => [call.id, call]));
  return { ...given, results, calls, shownCalls: new Set(calls.keys()) };
}

function isResult(block: object): block is ToolResult {
  return "type" in block && block.type === "tool_result" && "toolUseId" in block;
}

interface ShownMessage {
  readonly kind: "human" | "assistant" | "machine" | "system";
  readonly speaker: string;
  readonly model?: string;
  readonly body: string;
}

/**
 * Makes the section of a message, or an empty text if the message has nothing to show. `before` is the previous speaker.
 */
export function messageHtml(message: Message, view: View, before: string): { html: string; speaker: string } {
  const shown = shownMessage(message, view);
  if (!shown || shown.body === "") return { html: "", speaker: before };
  const aside = asideOf(message);
  const speaker = `${shown.speaker}${aside}`;
  // Consecutive messages of one agent have one heading.
  const isContinued = shown.kind === "assistant" && speaker === before;
  const details = [
    shown.model === undefined ? "" : `<span class="model">${escapeHtml(shown.model)}</span>`,
    timeHtml(message),
    aside === "" ? "" : `<span class="badge">${aside}</span>`,
  ];
  const heading = isContinued ? "" : `<h3>${escapeHtml(shown.speaker)} ${details.filter(Boolean).join(" ")}</h3>`;
  const id = ` id="${view.anchor(`line-${message.lineNumber}`)}"`;
  const html = `<section class="${shown.kind}${aside === "" ? "" : " aside"}"${id}>${heading}${shown.body}</section>`;
  return { html, speaker };
}

function asideOf(message: Message): string {
  if (message.isSidechain) return "subagent";
  if (message.isCompacted) return "before the compaction";
  return message.isActive ? "" : "rewound";
}

function shownMessage(message: Message, view: View): ShownMessage | undefined {
  if (message.role === "assistant") {
    const body = message.content.map((block) => answerHtml(objectOf(block), view)).join("\n");
    const model = shortModel(message.model);
    return { kind: "assistant", speaker: view.speaker, ...(model === "" ? {} : { model }), body: body.trim() };
  }
  if (message.role === "user") return shownUser(message, view);
  if (message.humanPrompt !== null)
    return {
      kind: "human",
      speaker: `You, while ${view.speaker} was working`,
      body: markdownHtml(message.humanPrompt),
    };
  if (message.type === "summary")
    return { kind: "system", speaker: "Summary", body: markdownHtml(String(message.content)) };
  if (!isKnownLineType(message.type)) {
    const json = codeHtml(JSON.stringify(message.raw, undefined, 2), "json");
    return {
      kind: "system",
      speaker: unknownLine(message.type),
      body: foldedHtml(`Line ${message.lineNumber}`, json),
    };
  }
  return message.type === "system" ? shownSystem(message) : undefined;
}

export function shortModel(model: string): string {
  return model === "<synthetic>" ? "" : model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}

function shownSystem(message: Message): ShownMessage | undefined {
  const subtype = stringOf(message.raw["subtype"]) ?? "system";
  if (subtype === "compact_boundary")
    return { kind: "system", speaker: "The conversation was compacted here", body: "<hr>" };
  if (typeof message.content !== "string" || message.content.trim() === "") return undefined;
  return { kind: "system", speaker: subtype.replaceAll("_", " "), body: taggedHtml(message.content) };
}

function shownUser(message: Extract<Message, { role: "user" }>, view: View): ShownMessage {
  const { content } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const body = blocks
    .map((block) => userHtml(block, view))
    .filter(Boolean)
    .join("\n");
  if (message.raw["isCompactSummary"] === true)
    return {
      kind: "system",
      speaker: "What came before",
      body: foldedHtml("The summary that the model was given", body),
    };
  if (message.humanPrompt !== null) return { kind: "human", speaker: "You", body };
  const isTask = message.isSidechain && message.parentUuid === null;
  return { kind: "machine", speaker: isTask ? "Task" : view.program, body };
}

function userHtml(block: object, view: View): string {
  if (isResult(block))
    return view.shownCalls.has(block.toolUseId)
      ? ""
      : foldedHtml(block.isError ? "Result (error)" : "Result", terminalHtml(block.content), "result");
  const value = objectOf(block);
  if (value["type"] === "text") return taggedHtml(stringOf(value["text"]) ?? "");
  return otherHtml(value);
}

function answerHtml(block: Value, view: View): string {
  if (block["type"] === "text") return markdownHtml(stringOf(block["text"]) ?? "");
  if (block["type"] === "thinking") {
    const thought = stringOf(block["thinking"]) ?? "";
    return thought.trim() === "" ? "" : foldedHtml("Thinking", markdownHtml(thought), "thinking");
  }
  if (block["type"] !== "tool_use") return otherHtml(block);
  const id = stringOf(block["id"]) ?? "";
  const call = view.calls.get(id);
  const agentId = call?.agentId ?? undefined;
  return toolHtml({
    id,
    name: stringOf(block["name"]) ?? "tool",
    input: objectOf(block["input"]),
    call,
    result: view.results.get(id),
    agentAnchor: agentId !== undefined && view.agentIds.has(agentId) ? view.anchor(`agent-${agentId}`) : undefined,
  });
}

/** Shows images, the titles of documents, and blocks of other types as JSON. */
function otherHtml(block: Value): string {
  if (block["type"] === "image") return imageHtml(block);
  if (block["type"] === "document") {
    const source = objectOf(block["source"]);
    const title = stringOf(block["title"]) ?? stringOf(source["media_type"]) ?? "document";
    return `<p class="note">A document: ${escapeHtml(title)}</p>`;
  }
  return foldedHtml(stringOf(block["type"]) ?? "content", codeHtml(JSON.stringify(block, undefined, 2), "json"));
}
