/** Reads the older form of Cursor's transcripts, which is text with marks. */
import { isFile, textAt } from "../port/files.ts";
import type { Original, Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";
import { folderNamed, promptOf, startOf } from "./transcript.ts";

/** Finds a line with only `user:` or `assistant:`. This line says who wrote the lines after it. */
const speaker = /^(user|assistant):\s*$/;

export function readText(unit: Unit, writer: TranscriptWriter): void {
  const text = textAt(unit.path);
  const paths = [...text.matchAll(/^\s+\w+: (\/\S+)$/gm)].flatMap(([, path]) => path ?? []);
  writer.place({ cwd: folderNamed(String(unit.extra?.["project"]), paths) });
  const lines = text.split("\n");
  let role = "";
  let start = 0;
  const end = (until: number): void => {
    const from = `line ${start + 1}`;
    const body = lines.slice(start, until);
    if (role === "user") {
      const { text: prompt, at } = promptOf(body.join("\n").trim());
      writer.user(prompt, { from, at: at ?? (writer.last === null ? startOf(unit.path) : null) });
    } else if (role === "assistant") writeAnswer(unit.id, body, from, writer);
    else if (body.join("").trim() !== "") writer.damage(body.join(" "));
  };
  for (const [at, line] of lines.entries()) {
    const [, next] = speaker.exec(line) ?? [];
    if (next === undefined) continue;
    end(at);
    role = next;
    start = at + 1;
  }
  end(lines.length);
}

/** Returns the text at a place such as `line 12`. The text ends before the next `user:` or `assistant:`. */
export function originalText(path: string, from: string): Original {
  const lines = isFile(path) ? textAt(path).split("\n") : [];
  // The line before the text says who wrote the text.
  const start = Number(/^line (\d+)$/.exec(from)?.[1]) - 1;
  if (!(start >= 0 && start < lines.length)) return { path, text: undefined };
  const end = lines.findIndex((line, at) => at >= start && speaker.test(line));
  return { path, text: lines.slice(Math.max(0, start - 1), end < 0 ? undefined : end).join("\n") };
}

/**
 * Writes an answer. A mark begins a part, and the indented lines after the mark are its body. Text after results is a
 * separate answer.
 */
function writeAnswer(id: string, lines: readonly string[], from: string, writer: TranscriptWriter): void {
  let content: Block[] = [];
  let results: { readonly id: string; readonly body: string[] }[] = [];
  const open: string[] = [];
  let parts = 0;
  let body: string[] = [];
  const said: string[] = [];
  const flush = (): void => {
    const text = said.join("\n").trim();
    if (text !== "") content.push({ type: "text", text });
    said.length = 0;
  };
  const end = (): void => {
    flush();
    // `lines` may contain several answers and results, so their ids contain a number.
    const own = `${from}:${parts}`;
    writer.answer({ call: `cursor:${id}:${own}`, model: "", content: content.map(finished), from, id: own });
    for (const [at, result] of results.entries())
      writer.result(result.id, result.body.join("\n"), { from, id: `${own}:${at}` });
    content = [];
    results = [];
    parts += 1;
  };
  for (const line of lines) {
    const [, mark = "", rest = ""] = /^\[(Thinking|Tool call|Tool result)\] ?(.*)$/.exec(line) ?? [];
    if (mark === "" && /^\s+\S/.test(line) && body !== said) {
      body.push(line.trim());
      continue;
    }
    if (results.length > 0 && mark !== "Tool result" && line.trim() !== "") end();
    if (mark === "") {
      body = said;
      said.push(line);
      continue;
    }
    flush();
    body = [];
    parts += 1;
    if (mark === "Thinking") {
      body.push(rest);
      content.push({ type: "thinking", thinking: "", lines: body });
    } else if (mark === "Tool call") {
      const call = `${id}:${from}:${parts}`;
      content.push({ type: "tool_use", id: call, name: rest.trim(), input: {}, lines: body });
      open.push(call);
    } else results.push({ id: open.shift() ?? `${id}:${from}`, body });
  }
  end();
}

function finished({ lines, ...block }: Block): Block {
  const body = (lines ?? []) as readonly string[];
  if (block["type"] === "thinking") return { ...block, thinking: body.join("\n") };
  if (block["type"] !== "tool_use") return block;
  const pairs = body.map((line) => /^([^:]+): ?(.*)$/.exec(line) ?? ["", "text", line]);
  return { ...block, input: Object.fromEntries(pairs.map(([, key, value]) => [String(key), value])) };
}
