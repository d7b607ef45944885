/**
 * Exports a session of any runtime as a page or as Markdown. The export first writes a transcript in Claude Code's
 * format.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportSession } from "@skein/history";
import { type Event, type JsonObject, type Session, blocksOf } from "@skein/protocol";

export async function sessionPage(
  session: Pick<Session, "id" | "title">,
  events: readonly Event[],
  format: "html" | "markdown",
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "skein-session-page-"));
  try {
    const project = join(folder, "projects", "session");
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, `${session.id}.jsonl`), transcriptLines(session, events).join(""), { mode: 0o600 });
    return await exportSession(session.id, format, { dataPath: folder, cacheFolder: null });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the messages and tool calls of a session as lines of a transcript. The parent of a line is the previous line.
 */
function transcriptLines({ id, title }: Pick<Session, "id" | "title">, events: readonly Event[]): readonly string[] {
  const lines: string[] = [];
  let parentUuid: string | null = null;
  const add = (event: Event, line: JsonObject): void => {
    const common = { sessionId: id, uuid: event.id, parentUuid, timestamp: event.created_at, cwd: "", version: "" };
    lines.push(`${JSON.stringify({ ...common, isSidechain: false, userType: "external", ...line })}\n`);
    parentUuid = event.id;
  };
  for (const event of events) {
    const line = lineOf(event);
    if (line) add(event, line);
  }
  if (title !== null) lines.unshift(`${JSON.stringify({ type: "summary", summary: title, leafUuid: parentUuid })}\n`);
  return lines;
}

function lineOf(event: Event): JsonObject | undefined {
  switch (event.event_type) {
    case "message.copied":
      return event.data.role === "assistant"
        ? answer(event.data.message_id, { content: blocksOf(event.data.content), model: "", usage: {} })
        : { type: "user", message: { role: "user", content: event.data.content } };
    case "prompt.accepted":
      return { type: "user", message: { role: "user", content: event.data.content } };
    case "step.generated":
      if (event.data.purpose === "title" || event.data.purpose === "compaction") return undefined;
      return answer(event.data.message_id, event.data);
    case "tool.completed": {
      const { tool_use_id, content, is_error } = event.data;
      const result = { type: "tool_result", tool_use_id, content, is_error };
      return { type: "user", message: { role: "user", content: [result] } };
    }
    case "compaction.checked":
      if (!event.data.applied) return undefined;
      return { type: "system", subtype: "compact_boundary", content: "Conversation compacted" };
    default:
      return undefined;
  }
}

function answer(
  id: string,
  { content, model, usage }: { content: readonly unknown[]; model: string; usage: object },
): JsonObject {
  const counted = { input_tokens: 0, output_tokens: 0, ...usage };
  return {
    type: "assistant",
    message: { id, type: "message", role: "assistant", model, content, stop_reason: null, usage: counted },
  };
}
