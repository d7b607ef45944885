/** A session as one HTML file: without scripts, without anything to load, and with the session's text escaped. */
import { createHash } from "node:crypto";
import type { AgentSession, Message, Session } from "../model/types.ts";
import { shownMessage, type Part } from "./transcript-parts.ts";

export function toHtml(session: Session, agents: readonly AgentSession[] = []): string {
  const title = escapeHtml(session.summary ?? "Untitled session");
  return [
    pageStart(title),
    `<h1>${title}</h1>`,
    detailsTable(session),
    ...session.messages.map(messageHtml),
    ...agents.flatMap((agent) => [
      `<h2 id="agent-${escapeHtml(agent.agentId)}">Subagent ${escapeHtml(agent.agentType ?? agent.agentId)}</h2>`,
      ...agent.messages.map(messageHtml),
    ]),
    damageList(session),
    "</main></body></html>\n",
  ].join("\n");
}

/** The beginning of a page, with a content security policy that lets nothing run or load. */
function pageStart(title: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${styleHash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${title}</title><style>${style}</style></head><body><main>`;
}

const style =
  "body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#fafafa;color:#1a1a1a}main{max-width:60rem;margin:auto;padding:1rem}" +
  "table{border-collapse:collapse}td,th{padding:.1rem .8rem .1rem 0;text-align:left;vertical-align:top}section{margin:1rem 0;padding:.6rem 1rem;border-radius:.5rem;background:#fff;border:1px solid #ddd}" +
  ".human{background:#eef5ff;border-color:#bcd}.system{background:#fffbe8}.aside{opacity:.6}h3{margin:0 0 .4rem;font-size:.9rem;color:#555}" +
  "pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0;font:.85rem/1.45 ui-monospace,monospace}.text{font:inherit}summary{cursor:pointer;color:#444;font-size:.9rem}.error summary{color:#b00}" +
  "@media(prefers-color-scheme:dark){body{background:#151515;color:#ddd}section{background:#1d1d1d;border-color:#333}.human{background:#1a2433}.system{background:#2a2615}h3,summary{color:#aaa}}" +
  "@media print{details{display:block}}";

/** The policy allows only this style sheet, so that styles in a transcript have no effect. */
const styleHash = `sha256-${createHash("sha256").update(style).digest("base64")}`;

function detailsTable(session: Session): string {
  const details = {
    Session: session.id,
    Project: session.projectPath,
    Started: session.timestamp.toISOString(),
    "Last activity": session.lastActivityAt.toISOString(),
    Messages: String(session.messageCount),
    Branch: session.gitBranch ?? "",
    "Claude Code": session.version,
  };
  const rows = Object.entries(details).map(([name, value]) => `<tr><th>${name}</th><td>${escapeHtml(value)}</td></tr>`);
  return `<table>${rows.join("")}</table>`;
}

function messageHtml(message: Message): string {
  const shown = shownMessage(message);
  if (!shown) return "";
  const aside = message.isActive
    ? ""
    : message.isCompacted
      ? " · before the compaction"
      : " · not on the active thread";
  const time = message.timestamp.toISOString();
  const parts = shown.parts.map(partHtml).join("\n");
  return `<section class="${shown.kind}${message.isActive ? "" : " aside"}"><h3>${escapeHtml(shown.heading)}${aside} · <time datetime="${time}">${time}</time></h3>${parts}</section>`;
}

function partHtml(part: Part): string {
  switch (part.kind) {
    case "text":
      return `<pre class="text">${escapeHtml(part.text)}</pre>`;
    case "thinking":
      return details("Thinking", part.text, "");
    case "tool-use":
      return details(part.title, part.text, "");
    case "tool-result":
      return details(part.title, part.text, part.isError ? "error" : "");
    case "other":
      return details(part.title, part.text, "");
  }
}

function details(title: string, text: string, kind: string): string {
  return `<details class="${kind}"><summary>${escapeHtml(title)}</summary><pre>${escapeHtml(text)}</pre></details>`;
}

function damageList({ damage }: Session): string {
  if (damage.length === 0) return "";
  const items = damage.map(({ line, kind, message }) => `<li>line ${line}: ${kind}, ${escapeHtml(message)}</li>`);
  return `<h2>Damage</h2><ul>${items.join("")}</ul>`;
}

// The expression has to name control characters.
// oxlint-disable-next-line no-control-regex
const special = /[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes markup, and shows control and direction characters as escapes. */
function escapeHtml(text: string): string {
  return text.replaceAll(special, (char) => names[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
