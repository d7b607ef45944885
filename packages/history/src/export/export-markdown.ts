import type { AgentSession, Message, Session } from "../model/types.ts";
import { agentTitles } from "../sources/port/source.ts";
import { shownMessage, type Part } from "./transcript-parts.ts";

/** Writes a session as Markdown. The session's text cannot close the code fences and `<details>` around it. */
export function toMarkdown(session: Session, agents: readonly AgentSession[] = []): string {
  const lines = [
    `# ${plain(session.summary ?? "Untitled session")}`,
    "",
    "| | |",
    "|---|---|",
    ...Object.entries({
      Session: session.id,
      Project: session.projectPath,
      Started: session.timestamp.toISOString(),
      "Last activity": session.lastActivityAt.toISOString(),
      Messages: String(session.messageCount),
      Branch: session.gitBranch ?? "",
      Agent: `${agentTitles[session.source]} ${session.version}`.trim(),
    }).map(([name, value]) => `| ${name} | ${plain(value)} |`),
    "",
    ...messageLines(session.messages),
  ];
  for (const agent of agents) {
    lines.push(`# Subagent ${plain(agent.agentType ?? agent.agentId)}`, "", ...messageLines(agent.messages));
  }
  if (session.damage.length > 0) {
    lines.push("# Damaged lines", "");
    for (const { line, kind, message, text = "" } of session.damage)
      lines.push(...details(`Line ${line}: ${kind}, ${message}`, text, ""));
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

const marks = { human: "👤", assistant: "🤖", machine: "⚙️", system: "ℹ️" } as const;

function messageLines(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    const shown = shownMessage(message);
    if (!shown) return [];
    const aside = message.isActive
      ? ""
      : message.isCompacted
        ? " · before the compaction"
        : " · not on the active thread";
    return [`## ${marks[shown.kind]} ${plain(shown.heading)}${aside}`, "", ...shown.parts.flatMap(partLines)];
  });
}

function partLines(part: Part): string[] {
  switch (part.kind) {
    case "text":
      return [safeMarkdown(part.text), ""];
    case "thinking":
      return details("Thinking", part.text, "");
    case "tool-use":
      return details(`Tool: ${part.title}`, part.text, "json");
    case "tool-result":
      return details(part.title, part.text, "");
    case "other":
      return details(part.title, part.text, "json");
  }
}

function details(title: string, text: string, language: string): string[] {
  const fence = fenceFor(text);
  const body = text === "" ? [] : [`${fence}${language}`, text, fence, ""];
  return ["<details>", `<summary>${plain(title)}</summary>`, "", ...body, "</details>", ""];
}

/** Makes a fence with more backticks than the text has in a row, so that the text cannot close the fence. */
function fenceFor(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  return "`".repeat(longest + 1);
}

/**
 * Escapes raw HTML and images, and keeps all other Markdown. Closes an open fence, because the rest of the document must
 * not be inside the fence.
 */
function safeMarkdown(text: string): string {
  let fence: string | undefined;
  const lines = text.split("\n").map((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    const isClosing = mark !== undefined && fence !== undefined && mark.startsWith(fence) && line.trim() === mark;
    const isInside = fence !== undefined;
    if (isClosing) fence = undefined;
    else if (mark !== undefined && !isInside) fence = mark;
    return isInside ? line : withoutPower(line);
  });
  return fence === undefined ? lines.join("\n") : [...lines, fence].join("\n");
}

/** Links that would run a script or open a data URL. */
const runningLink = /(\]\(|\]:)\s*(?:<|&lt;)?\s*(javascript|vbscript|data)\s*(?::|&colon;|&#0*58;|&#x0*3a;)/gi;

function withoutPower(line: string): string {
  return line
    .replaceAll(/<(?=[A-Za-z/!?])/g, "&lt;")
    .replaceAll("![", "!\\[")
    .replaceAll(runningLink, "$1#not-followed-$2-");
}

function plain(text: string): string {
  const line = html(text.replaceAll(/\s+/g, " ")).replaceAll("|", "\\|");
  return line.replaceAll("![", "!\\[").replaceAll(runningLink, "$1#not-followed-$2-");
}

function html(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
