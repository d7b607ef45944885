/** A tool call with its result, as Claude Code shows it: a command and its output, an edit as a difference. */
import type { ToolCall, ToolResult } from "../../model/types.ts";
import { arrayOf, isObject, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { DiffLine } from "../../diff/diff-lines.ts";
import { codeHtml, diffHtml, differenceHtml, terminalHtml } from "./code-html.ts";
import { durationText } from "./dates.ts";
import { escapeHtml } from "./escape-html.ts";
import { markdownHtml } from "./markdown-html.ts";
import { foldedHtml } from "./tagged-html.ts";

export interface ShownCall {
  readonly id: string;
  readonly name: string;
  readonly input: Value;
  readonly call: ToolCall | undefined;
  readonly result: ToolResult | undefined;
  /** If the call started a subagent, the place of its conversation on the page. */
  readonly agentAnchor: string | undefined;
}

/** A longer result is folded until a reader opens it. */
const openLines = 12;

export function toolHtml(shown: ShownCall): string {
  const { name, input, call, result } = shown;
  const isError = result?.isError === true;
  const subject = subjectOf(name, input);
  const took = call?.durationMs && call.durationMs >= 1000 ? durationText(call.durationMs) : "";
  const marks = [isError ? "failed" : result ? "" : "no result", took].filter((mark) => mark !== "").join(" · ");
  const summary = [
    `<span class="tool-name">${escapeHtml(name)}</span>`,
    subject === "" ? "" : `<span class="subject">${escapeHtml(subject)}</span>`,
    marks === "" ? "" : `<span class="mark">${escapeHtml(marks)}</span>`,
  ].join(" ");
  const link =
    shown.agentAnchor === undefined ? "" : `<p><a href="#${shown.agentAnchor}">What the subagent did</a></p>`;
  const body = `${inputHtml(name, input, call)}${link}${resultHtml(name, result)}`;
  const isOpen = isError || editTools.has(name) || name === "TodoWrite" || name === "AskUserQuestion";
  return `<details class="tool${isError ? " error" : ""}"${isOpen ? " open" : ""}><summary>${summary}</summary>${body}</details>`;
}

const editTools: ReadonlySet<string> = new Set(["Edit", "MultiEdit", "Write", "NotebookEdit"]);

function subjectOf(name: string, input: Value): string {
  const description = stringOf(input["description"]);
  if (name === "Bash" && description !== null) return firstLine(description);
  const key = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "subject",
    "description",
    "skill",
  ].find((each) => typeof input[each] === "string");
  return key === undefined ? shortInputs(input) : firstLine(String(input[key]));
}

/** Describes a call by its short inputs, such as "taskId 3, status completed". */
function shortInputs(input: Value): string {
  const short = Object.entries(input).flatMap(([key, value]) => {
    const isShort =
      typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value !== "");
    return isShort ? [`${key} ${String(value)}`] : [];
  });
  return firstLine(short.join(", "));
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

function inputHtml(name: string, input: Value, call: ToolCall | undefined): string {
  const command = stringOf(input["command"]);
  if (name === "Bash" && command !== null)
    return codeHtml(`$ ${command}`, "sh") + restHtml(input, ["command", "description"]);
  if (editTools.has(name)) return editHtml(input, call);
  if (name === "TodoWrite") return todosHtml(input["todos"]);
  const prompt = stringOf(input["prompt"]);
  if ((name === "Task" || name === "Agent") && prompt !== null)
    return `${foldedHtml("The task", markdownHtml(prompt))}${restHtml(input, ["prompt", "description"])}`;
  if (name === "ExitPlanMode" && typeof input["plan"] === "string") return markdownHtml(input["plan"]);
  return restHtml(input, ["Read", "Glob", "Grep", "LS"].includes(name) ? ["file_path"] : []);
}

/** Shows the inputs that are not in `shown`: short inputs in a table, long inputs as text. */
function restHtml(input: Value, shown: readonly string[]): string {
  const entries = Object.entries(input).filter(([key]) => !shown.includes(key));
  if (entries.length === 0) return "";
  const rows = entries.map(([key, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
    const isLong = text.length > 200 || text.includes("\n");
    return `<tr><th>${escapeHtml(key)}</th><td>${isLong ? `<pre>${escapeHtml(text)}</pre>` : escapeHtml(text)}</td></tr>`;
  });
  return `<div class="scroll"><table class="inputs">${rows.join("")}</table></div>`;
}

/** Shows the change that Claude Code recorded for an edit. Without a record, compares the texts of the call. */
function editHtml(input: Value, call: ToolCall | undefined): string {
  const path = stringOf(input["file_path"]) ?? stringOf(input["notebook_path"]) ?? "";
  const patch = arrayOf(objectOf(call?.toolUseResult)["structuredPatch"]).filter(isObject);
  if (patch.length > 0) return patch.map((hunk) => diffHtml(linesOfHunk(hunk))).join("");
  const edits = Array.isArray(input["edits"]) ? (input["edits"] as unknown[]).map(objectOf) : [input];
  const changes = edits.map((edit) => {
    const after = stringOf(edit["new_string"]) ?? stringOf(edit["content"]) ?? stringOf(edit["new_source"]) ?? "";
    const before = stringOf(edit["old_string"]);
    return before === null ? codeHtml(after, extensionOf(path)) : differenceHtml(before, after);
  });
  return changes.join("") + restHtml(input, editInputs);
}

const editInputs = ["file_path", "notebook_path", "edits", "old_string", "new_string", "content", "new_source"];

function linesOfHunk(hunk: Value): readonly DiffLine[] {
  return arrayOf(hunk["lines"]).map((line): DiffLine => {
    const text = String(line);
    const kind = text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "same";
    return { kind, text: text.slice(1) };
  });
}

function extensionOf(path: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(path)?.[1]?.toLowerCase() ?? "";
}

function todosHtml(value: unknown): string {
  const marks: Readonly<Record<string, string>> = { completed: "☑", in_progress: "▸", pending: "☐" };
  const items = arrayOf(value).map((each) => {
    const { status, content } = objectOf(each);
    const name = status === "completed" ? ' class="done"' : "";
    return `<li${name}>${marks[String(status)] ?? "☐"} ${escapeHtml(stringOf(content) ?? "")}</li>`;
  });
  return `<ul class="todos">${items.join("")}</ul>`;
}

function resultHtml(name: string, result: ToolResult | undefined): string {
  if (!result) return "";
  const images = arrayOf(result.parts).map(imageHtml).join("");
  const text = images === "" ? result.content : result.content.replaceAll(/^\[image\]$/gm, "").trim();
  // The result of a successful edit is only a confirmation, so it is not shown.
  const isQuiet = (editTools.has(name) || name === "TodoWrite") && !result.isError;
  if (text.trim() === "" || isQuiet) return images;
  const lines = text.split("\n").length;
  const shown = name === "Task" || name === "Agent" ? markdownHtml(text) : terminalHtml(text);
  if (lines <= openLines || result.isError) return `<div class="result">${shown}</div>${images}`;
  return `${foldedHtml(`Result, ${lines} lines`, shown, "result")}${images}`;
}

/** Puts an image into the page. Leaves out formats that can contain a script. */
export function imageHtml(block: unknown): string {
  const value = objectOf(block);
  if (value["type"] !== "image") return "";
  const source = objectOf(value["source"]);
  const data = stringOf(source["data"]) ?? "";
  const media = stringOf(source["media_type"]) ?? "";
  const isImage = /^image\/(png|jpeg|gif|webp)$/.test(media) && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
  if (isImage) return `<figure><img src="data:${media};base64,${data}" alt="An image of the conversation"></figure>`;
  return `<p class="note">An image that cannot be shown (${escapeHtml(media === "" ? "unknown format" : media)})</p>`;
}
