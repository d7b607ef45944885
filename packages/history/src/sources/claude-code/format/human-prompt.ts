/**
 * Distinguishes text that a person typed from other user lines of Claude Code: results, reminders, notifications,
 * output of local commands, summaries, prompts for subagents.
 */
type Value = Readonly<Record<string, unknown>>;

/**
 * Returns the text that a person typed, or undefined. A prompt that was typed while the model worked is an attachment.
 */
export function humanPrompt(line: Value): string | undefined {
  if (line["isSidechain"] === true || line["isMeta"] === true) return undefined;
  if (line["type"] === "attachment") return queuedPrompt(line["attachment"]);
  if (line["type"] !== "user" || line["isCompactSummary"] === true || line["teamName"] !== undefined) return undefined;
  const origin = kindOf(line["origin"]);
  if (origin !== undefined && origin !== "human") return undefined;
  const { message } = line;
  return isObject(message) ? typedText(message["content"]) : undefined;
}

/** Tags at the beginning of user lines that no person typed. */
export const machineTags: readonly string[] = [
  "command-name",
  "command-message",
  "command-args",
  "local-command-stdout",
  "local-command-stderr",
  "local-command-caveat",
  "bash-input",
  "bash-stdout",
  "bash-stderr",
  "task-notification",
  "teammate-message",
  "system-reminder",
  "ide_opened_file",
  "ide_selection",
  "ide_diagnostics",
  "session-start-hook",
  "tick",
  "goal",
  "user-memory-input",
];
const wrapper = new RegExp(`^\\s*<(${machineTags.join("|")})(?:\\s[^>]*)?>`);
const machineText = /^\s*(\[Request interrupted by user[^\]]*\]\s*$|Caveat: )/;

/** Removes machine tags and their content from the beginning. Returns undefined if no typed text is left. */
function withoutWrappers(text: string): string | undefined {
  let rest = text;
  for (;;) {
    const name = wrapper.exec(rest)?.[1];
    if (name === undefined) break;
    const close = `</${name}>`;
    const end = rest.indexOf(close);
    if (end < 0) return undefined;
    rest = rest.slice(end + close.length);
  }
  rest = rest.trim();
  return rest === "" || machineText.test(rest) ? undefined : rest;
}

function typedText(content: unknown): string | undefined {
  if (typeof content === "string") return withoutWrappers(content);
  if (!Array.isArray(content)) return undefined;
  const parts: string[] = [];
  for (const block of content as unknown[]) {
    if (!isObject(block)) continue;
    if (block["type"] === "tool_result") return undefined;
    const part =
      block["type"] === "text" && typeof block["text"] === "string" ? withoutWrappers(block["text"]) : undefined;
    if (part !== undefined) parts.push(part);
  }
  return parts.length > 0 ? parts.join("\n") : undefined;
}

function queuedPrompt(attachment: unknown): string | undefined {
  if (!isObject(attachment) || attachment["type"] !== "queued_command") return undefined;
  const origin = kindOf(attachment["origin"]);
  if (origin !== undefined && origin !== "human") return undefined;
  const mode = attachment["commandMode"];
  if (mode !== undefined && mode !== "prompt") return undefined;
  return typedText(attachment["prompt"] ?? attachment["content"]);
}

function kindOf(origin: unknown): string | undefined {
  const kind = isObject(origin) ? origin["kind"] : origin;
  return typeof kind === "string" ? kind : undefined;
}

function isObject(value: unknown): value is Value {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
