/**
 * Tools for a model: search past sessions of coding agents, see the outline of a session, read a part of it.
 *
 * A model pays for every character, so each answer is limited and says how to get the rest. A transcript may contain
 * instructions, so the instructions of the MCP server (`serve-history.ts`) tell the model to treat past messages as
 * information only.
 */
import {
  getAgentSession,
  getSession,
  listSessions,
  searchSessions,
  toolCallsOf,
  type LibraryConfig,
  type Message,
  type Session,
  type SourceName,
  type ToolCall,
} from "@skein/history";
import { agentTitles, sourceNames } from "@skein/history/sources";
import { z } from "zod";
import { findOriginal } from "../commands/history/original.ts";
import { visible, visibleLine } from "../terminal/visible-text.ts";

export interface HistoryTool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  call(input: z.infer<Input>): Promise<string>;
}

/** About 8,000 tokens. A page of this size leaves room for the model's work. */
const mostCharacters = 24_000;

/** `config` is called again for each call of a tool, because the archive may have grown. */
export function historyTools(config: () => Promise<LibraryConfig>): readonly HistoryTool[] {
  return [sessionsTool(config), searchTool(config), outlineTool(config), readTool(config)].map((tool) => ({
    ...tool,
    call: async (input: never) => bounded(await tool.call(input)),
  }));
}

const time = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: "Expected an ISO 8601 time with its zone, such as 2026-11-01T10:00:00Z, or a date",
});
const source = z.enum(sourceNames).optional().describe("Only sessions of this agent");
const session = z.string().min(4).max(100).describe("A session's id or the beginning of it");

function sessionsTool(config: () => Promise<LibraryConfig>) {
  const input = z.object({
    source,
    project: z.string().max(4096).optional().describe("Only sessions of this project path"),
    since: time.optional().describe("Only sessions active since then (ISO 8601)"),
    limit: z.int().min(1).max(50).default(15),
    offset: z.int().min(0).default(0),
  });
  return {
    name: "history_sessions",
    description:
      "Lists past sessions of Claude Code and of other agents, the newest activity first: id, time, agent, project, title.",
    input,
    async call({ source: agent, project, since, limit, offset }: z.infer<typeof input>): Promise<string> {
      const { data, pagination } = await listSessions({
        ...(await config()),
        ...filters(agent, project, since),
        limit,
        offset,
      });
      const lines = data.map((found) => {
        const title = visibleLine((found.summary ?? "(no title)").slice(0, 120));
        return `${found.id}  ${found.lastActivityAt.toISOString()}  ${agentTitles[found.source]}  ${found.messageCount} messages  ${visibleLine(found.projectPath)}  ${title}`;
      });
      const more = pagination.hasMore
        ? `\n(${pagination.total} in all; offset ${offset + data.length} gives the next ones)`
        : "";
      return `${lines.join("\n") || "No sessions."}${more}`;
    },
  };
}

function searchTool(config: () => Promise<LibraryConfig>) {
  const input = z.object({
    query: z
      .string()
      .min(1)
      .max(1000)
      .describe(
        'Words, "phrases" and /patterns/; all must occur in a message. Letter case is ignored, except in patterns with capital letters',
      ),
    source,
    project: z.string().max(4096).optional().describe("Only sessions of this project path"),
    role: z.enum(["user", "assistant", "human"]).optional().describe("human: only what a person typed"),
    tool: z.string().max(200).optional().describe("Only calls of this tool"),
    since: time.optional(),
    limit: z.int().min(1).max(30).default(8),
    offset: z.int().min(0).default(0),
  });
  return {
    name: "history_search",
    description:
      "Searches prompts, answers, tool calls and their results in past sessions of Claude Code and of other agents. Returns the best matches with the lines around them.",
    input,
    async call({
      query,
      source: agent,
      project,
      role,
      tool,
      since,
      limit,
      offset,
    }: z.infer<typeof input>): Promise<string> {
      const options = {
        ...(await config()),
        ...filters(agent, project, since),
        ...(role ? { role } : {}),
        ...(tool === undefined ? {} : { tool }),
      };
      const { data, pagination } = await searchSessions(query, { ...options, limit, offset, context: 2 });
      if (pagination.total === 0) return "Nothing found.";
      const blocks = data.map((match) => {
        const at =
          match.agentId === null ? `session ${match.sessionId}` : `session ${match.sessionId} agent-${match.agentId}`;
        const title = visibleLine((match.sessionSummary ?? "").slice(0, 100));
        const context = match.context.map((line) => `  ${visible(line.slice(0, 400))}`).join("\n");
        return `[${at} line ${match.fileLine}] ${match.timestampIsInferred ? "" : `${match.timestamp.toISOString()} `}${match.isTitle ? "title" : match.kind}${match.toolName === null ? "" : ` ${visibleLine(match.toolName)}`} · ${agentTitles[match.source]} · ${title}\n${context}`;
      });
      const more = pagination.hasMore
        ? `\n\n(${pagination.total} matches; offset ${offset + data.length} gives the next ones)`
        : "";
      return `${blocks.join("\n\n")}${more}`;
    },
  };
}

function outlineTool(config: () => Promise<LibraryConfig>) {
  const input = z.object({ session, source });
  return {
    name: "history_outline",
    description:
      "What happened in one session: each prompt a person typed with the line it is on, the tools that were used after it, and how it ended. Read parts of it with history_read.",
    input,
    async call({ session: id, source: agent }: z.infer<typeof input>): Promise<string> {
      const found = await getSession(id, { ...(await config()), ...filters(agent) });
      const lines = [head(found), ""];
      let tools = new Map<string, number>();
      const flush = (): void => {
        if (tools.size > 0)
          lines.push(`    tools: ${[...tools].map(([name, count]) => `${visibleLine(name)} ×${count}`).join(", ")}`);
        tools = new Map();
      };
      for (const message of found.messages) {
        if (message.role === "assistant") {
          for (const block of message.content)
            if (block.type === "tool_use" && "name" in block)
              tools.set(String(block.name), (tools.get(String(block.name)) ?? 0) + 1);
        } else if (message.humanPrompt !== null) {
          flush();
          lines.push(
            `line ${message.lineNumber}${message.isActive ? "" : " (not on the active thread)"}: ${visibleLine(message.humanPrompt.slice(0, 300))}`,
          );
        }
      }
      flush();
      const last = found.messages.findLast((message) => message.role === "assistant" && textOf(message) !== "");
      if (last) lines.push("", `Last answer (line ${last.lineNumber}): ${visible(textOf(last).slice(0, 1500))}`);
      for (const agent of found.agents)
        lines.push(`Subagent agent-${agent.agentId}: ${visibleLine(agent.description ?? agent.agentType ?? "")}`);
      return lines.join("\n");
    },
  };
}

function readTool(config: () => Promise<LibraryConfig>) {
  const input = z.object({
    session: z.string().min(4).max(100).describe("A session's id or its beginning, or agent-<id> for a subagent"),
    source,
    fromLine: z.int().min(1).default(1).describe("Begin at this line of the file"),
    messages: z.int().min(1).max(200).default(40).describe("The largest number of messages"),
    full: z.boolean().default(false).describe("Whole inputs and results instead of their beginnings"),
    original: z
      .boolean()
      .default(false)
      .describe("Only what the message at fromLine was read from, as its agent wrote it"),
  });
  return {
    name: "history_read",
    description: "Reads a part of a session as text: prompts, answers, tool calls with their results.",
    input,
    async call(asked: z.infer<typeof input>): Promise<string> {
      const { session: id, source: agent, fromLine, messages, full, original } = asked;
      const options = { ...(await config()), ...filters(agent) };
      if (original) return await originalText({ session: id, line: String(fromLine), library: options });
      const isAgent = id.startsWith("agent-");
      const found = isAgent ? { ...(await getAgentSession(id, options)), agents: [] } : await getSession(id, options);
      const calls = new Map(toolCallsOf(found).map((call) => [call.id, call]));
      const rest = found.messages.filter(({ lineNumber }) => lineNumber >= fromLine);
      const texts: string[] = [];
      let used = 0;
      let next: Message | undefined;
      for (const [at, message] of rest.entries()) {
        const text = messageText(message, calls, full ? 8000 : 600);
        if (text === "") continue;
        const isFull = texts.length >= messages || (texts.length > 0 && used + text.length > mostCharacters - 1000);
        if (isFull) {
          next = rest[at];
          break;
        }
        texts.push(text.slice(0, mostCharacters - 1000));
        used += text.length;
      }
      const more = next ? `\n\n(more: fromLine ${next.lineNumber})` : "\n\n(end)";
      return `${texts.join("\n\n") || "There is no text from there on."}${more}`;
    },
  };
}

async function originalText(asked: Parameters<typeof findOriginal>[0]): Promise<string> {
  const { path, place, text } = (await findOriginal(asked)).original;
  return `[${visibleLine(`${path}, ${place}`)}]\n${text === undefined ? "The agent's record no longer exists." : visible(text)}`;
}

function head(found: Session): string {
  return `${found.id}\n${visibleLine(found.summary ?? "(no title)")}\n${agentTitles[found.source]}, ${visibleLine(found.projectPath)}, ${found.timestamp.toISOString()} to ${found.lastActivityAt.toISOString()}, ${found.messageCount} messages`;
}

function messageText(message: Message, calls: ReadonlyMap<string, ToolCall>, longest: number): string {
  const cut = (text: string): string =>
    visible(text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text);
  const aside =
    message.isActive || message.isSidechain ? "" : message.isCompacted ? " (before a compaction)" : " (rewound)";
  const at = `line ${message.lineNumber}${aside}`;
  if (message.role !== "assistant")
    return message.humanPrompt === null
      ? agentTask(message, at, cut)
      : `[user, ${at}]\n${visible(message.humanPrompt)}`;
  const parts = message.content.flatMap((block) => {
    if (block.type === "text" && "text" in block) return [visible(String(block.text))];
    if (block.type !== "tool_use" || !("name" in block)) return [];
    const call = calls.get(String(block.id));
    const result = call?.result === null || !call ? "(no result)" : cut(call.result);
    return [
      `<${visibleLine(String(block.name))} ${cut(JSON.stringify(block.input))}>\n${call?.isError ? "error: " : ""}${result}`,
    ];
  });
  return parts.length === 0 ? "" : `[assistant, ${at}]\n${parts.join("\n")}`;
}

/** Returns the task of a subagent. Without the task, the subagent's messages cannot be understood. */
function agentTask(message: Message, at: string, cut: (text: string) => string): string {
  if (message.role !== "user" || !message.isSidechain) return "";
  const text = textOf(message);
  return text === "" ? "" : `[task, ${at}]\n${cut(text)}`;
}

function textOf(message: Message): string {
  if (message.role === undefined) return "";
  const { content } = message;
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" && "text" in block ? [String(block.text)] : [])).join("\n");
}

function filters(agent?: SourceName, project?: string, since?: string): LibraryConfig {
  return {
    ...(agent === undefined ? {} : { sources: [agent] }),
    ...(project === undefined ? {} : { workspace: project }),
    ...(since === undefined ? {} : { since: new Date(since) }),
  };
}

function bounded(text: string): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}\n(cut: ask for less at a time)`;
}
