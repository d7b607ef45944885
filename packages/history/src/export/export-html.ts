/** Writes a session as one HTML file, for example to send to a colleague. The page runs no scripts and loads nothing. */
import type { AgentSession, Message, Session } from "../model/types.ts";
import { oneLine } from "../scan/line-text.ts";
import { agentTitles, speakerOf } from "../sources/port/source.ts";
import { terminalHtml } from "./html/code-html.ts";
import { dayText, spanText, timeHtml } from "./html/dates.ts";
import { escapeHtml } from "./html/escape-html.ts";
import { messageHtml, shortModel, viewOf, type Conversation, type View } from "./html/message-html.ts";
import { policy, style } from "./html/page-style.ts";
import { foldedHtml } from "./html/tagged-html.ts";
import { count, usageText } from "./html/usage-text.ts";

export function toHtml(session: Session, agents: readonly AgentSession[] = []): string {
  const title = pageTitle(session);
  const short = session.id.replaceAll(/[^A-Za-z0-9]/g, "").slice(0, 8);
  const anchor = (id: string): string => `s${short}-${id.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
  const agentIds = new Set(agents.map(({ agentId }) => agentId));
  const program = agentTitles[session.source];
  const view = viewOf(session, { anchor, agentIds, speaker: speakerOf(session.source), program });
  return [
    pageStart(title),
    `<header class="top"><h1${title.length > 90 ? ' class="long"' : ""}>${escapeHtml(title)}</h1>${facts(session, agents)}</header>`,
    outline(session.messages, view),
    ...conversationHtml(session, view),
    ...agents.flatMap((agent) => agentHtml(agent, { anchor, program })),
    damageHtml(session),
    "</main></body></html>\n",
  ].join("\n");
}

/** Returns the title of the session. If the title is a prompt, returns the beginning of the first prompt. */
function pageTitle({ summary, messages }: Session): string {
  const prompts = messages
    .flatMap((message) => ("humanPrompt" in message && message.humanPrompt) || [])
    .map((prompt) => oneLine(prompt));
  const [first] = prompts;
  if (summary === null) return first === undefined ? "Untitled session" : beginningOf(first);
  const isPrompt = prompts.some((prompt) => prompt.startsWith(summary.replace(/…$/, "")));
  return isPrompt && first !== undefined ? beginningOf(first) : summary;
}

/** Shortens a prompt to about 120 characters, without cutting a word. */
function beginningOf(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120).replace(/\s+\S*$/, "")}…` : text;
}

/** Makes the beginning of a page, with a content security policy that allows nothing to run or load. */
function pageStart(title: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body><main>`;
}

function facts(session: Session, agents: readonly AgentSession[]): string {
  const answers = [session.messages, ...agents.map(({ messages }) => messages)].flat();
  const models = new Set(answers.flatMap((message) => (message.role === "assistant" ? shortModel(message.model) : [])));
  const calls = answers.flatMap((message) =>
    message.role === "assistant" ? message.content.filter(({ type }) => type === "tool_use") : [],
  );
  const { tokens, cost } = usageText(answers);
  const withAgents = agents.length > 0 ? " with subagents" : session.agentIds.length > 0 ? " without subagents" : "";
  const rows = {
    When: spanText(session.timestamp, session.lastActivityAt),
    Project: session.projectPath,
    Branch: session.gitBranch ?? "",
    Model: [...models].filter((model) => model !== "").join(", "),
    Conversation: `${counted(session.messageCount, "message")}, ${counted(calls.length, "tool call")}`,
    Tokens: tokens,
    Cost: cost === "" ? "" : `${cost}${withAgents}`,
    Agent: `${agentTitles[session.source]} ${session.version}`.trim(),
    Session: session.id,
  };
  const html = Object.entries(rows).map(([name, value]) =>
    value === "" ? "" : `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  return `<dl class="facts">${html.join("")}</dl>`;
}

function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Lists the prompts of the conversation as links. */
function outline(messages: readonly Message[], { anchor }: View): string {
  const prompts = messages.filter(
    (message) => message.role !== "assistant" && message.humanPrompt !== null && message.isActive,
  );
  if (prompts.length < 2) return "";
  const items = prompts.map((message) => {
    const text = message.role === "assistant" ? "" : (message.humanPrompt ?? "").replaceAll(/\s+/g, " ").trim();
    return `<li><a href="#${anchor(`line-${message.lineNumber}`)}">${escapeHtml(beginningOf(text))}</a> ${timeHtml(message)}</li>`;
  });
  const isOpen = prompts.length <= 12 ? " open" : "";
  return `<nav class="outline"><details${isOpen}><summary>${prompts.length} prompts</summary><ol>${items.join("")}</ol></details></nav>`;
}

function conversationHtml({ messages }: Conversation, view: View): readonly string[] {
  const parts: string[] = [];
  let day = "";
  let speaker = "";
  for (const message of messages) {
    // The time of a line without a time is a guess, so it begins no new day.
    const date = message.timestampIsInferred ? day : dayText(message.timestamp);
    const shown = messageHtml(message, view, date === day ? speaker : "");
    if (shown.html === "") continue;
    if (date !== day) parts.push(`<p class="day">${date}</p>`);
    day = date;
    ({ speaker } = shown);
    parts.push(shown.html);
  }
  return parts;
}

function agentHtml(agent: AgentSession, { anchor, program }: Pick<View, "anchor" | "program">): readonly string[] {
  const name = [agent.agentType ?? agent.agentId, agent.description ?? ""].filter((part) => part !== "").join(": ");
  // All messages in a subagent's file are marked as a side chain. On the page, they are a separate conversation.
  const messages = agent.messages.map((message) => ({ ...message, isSidechain: false, isActive: true }));
  const own = (id: string): string => anchor(`${agent.agentId}-${id}`);
  return [
    `<h2 id="${anchor(`agent-${agent.agentId}`)}">Subagent ${escapeHtml(name)}</h2>`,
    ...conversationHtml(
      { messages, agents: [] },
      viewOf({ messages, agents: [] }, { anchor: own, agentIds: new Set(), speaker: "Subagent", program }),
    ),
  ];
}

function damageHtml({ damage }: Session): string {
  if (damage.length === 0) return "";
  const items = damage.map(({ line, kind, message, text }) =>
    foldedHtml(`Line ${line}: ${kind}, ${message}`, text === undefined ? "" : terminalHtml(text)),
  );
  return `<h2>Damaged lines</h2>${items.join("\n")}`;
}
