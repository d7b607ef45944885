/** Text that Claude Code wrapped into tags: commands, their output, reminders, notifications. */
import { machineTags } from "../../sources/claude-code/format/human-prompt.ts";
import { codeHtml, terminalHtml } from "./code-html.ts";
import { escapeHtml } from "./escape-html.ts";
import { markdownHtml } from "./markdown-html.ts";

/** Shows tagged text according to the meaning of each tag. */
export function taggedHtml(text: string): string {
  const html: string[] = [];
  let command: string | undefined;
  const finish = (): void => {
    if (command !== undefined) html.push(`<p class="command"><code>${escapeHtml(command.trim())}</code></p>`);
    command = undefined;
  };
  for (const { tag, text: inner } of pieces(text)) {
    if (tag === "command-name") {
      finish();
      command = inner.trim();
    } else if (tag === "command-args" && command !== undefined) command = `${command} ${inner.trim()}`;
    // The tag `command-message` repeats the name of the command.
    else if (tag !== "command-message" || command === undefined) {
      if (tag !== undefined || inner.trim() !== "") finish();
      html.push(pieceHtml(tag, inner));
    }
  }
  finish();
  return html.filter((part) => part !== "").join("\n");
}

interface Piece {
  readonly tag: string | undefined;
  readonly text: string;
}

const open = new RegExp(`<(${machineTags.join("|")})(?:\\s[^<>]*)?>`, "g");

function* pieces(text: string): Generator<Piece> {
  let last = 0;
  open.lastIndex = 0;
  for (let found = open.exec(text); found; found = open.exec(text)) {
    const [whole, tag = ""] = found;
    const from = found.index + whole.length;
    const end = text.indexOf(`</${tag}>`, from);
    // A tag that is not closed is shown as text.
    if (end < 0) break;
    if (found.index > last) yield { tag: undefined, text: text.slice(last, found.index) };
    yield { tag, text: text.slice(from, end) };
    last = end + tag.length + 3;
    open.lastIndex = last;
  }
  if (last < text.length) yield { tag: undefined, text: text.slice(last) };
}

const titles: Readonly<Record<string, string>> = {
  "system-reminder": "Reminder to the model",
  "task-notification": "A background task reported",
  "teammate-message": "Message of a teammate",
  "local-command-caveat": "Note to the model",
  "session-start-hook": "Hook at the start of the session",
  ide_opened_file: "Open in the editor",
  ide_selection: "Selected in the editor",
  ide_diagnostics: "Problems in the editor",
};

function pieceHtml(tag: string | undefined, text: string): string {
  if (text.trim() === "") return "";
  switch (tag) {
    case undefined:
      return markdownHtml(text.trim());
    case "bash-input":
      return codeHtml(`$ ${text.trim()}`, "sh");
    case "bash-stdout":
    case "local-command-stdout":
      return terminalHtml(text.trim());
    case "bash-stderr":
    case "local-command-stderr":
      return `<div class="error">${terminalHtml(text.trim())}</div>`;
    default:
      return foldedHtml(titles[tag] ?? tag, markdownHtml(text.trim()));
  }
}

/** Makes a folded part that the reader can open. */
export function foldedHtml(title: string, html: string, kind = "more"): string {
  return `<details class="${kind}"><summary>${escapeHtml(title)}</summary>${html}</details>`;
}
