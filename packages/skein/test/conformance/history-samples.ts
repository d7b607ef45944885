import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  getAgentSession,
  getSession,
  getToolCalls,
  listSessions,
  SessionNotFoundError,
  DataNotFoundError,
  searchSessions,
  WorkspaceNotFoundError,
} from "@skein/history";

type Samples = Readonly<Record<string, readonly object[]>>;

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";
const AGENT = "a64f14a";
const PROJECT = "/home/dev/project-name";

/** Returns results of the library for a small data directory, by the names of the specified entities. */
export async function librarySamples(): Promise<Samples> {
  const dataPath = await mkdtemp(join(tmpdir(), "skein-claude-"));
  try {
    await writeDirectory(dataPath);
    const config = { dataPath, cacheFolder: null };
    const session = await getSession(SESSION, config);
    const list = await listSessions(config);
    const agent = await getAgentSession(AGENT, config);
    const found = await searchSessions("chart", config);
    const users = session.messages.filter(({ type }) => type === "user");
    const assistants = session.messages.filter(({ type }) => type === "assistant");
    const blocks = [...users, ...assistants].flatMap(({ content }) =>
      Array.isArray(content) ? (content as object[]) : [],
    );
    const ofType = (type: string) => blocks.filter((block) => (block as { type: string }).type === type);
    return {
      Session: [session],
      SessionSummary: list.data,
      Message: session.messages,
      UserMessage: users,
      AssistantMessage: assistants,
      TokenUsage: assistants.map((message) => (message as { usage: object }).usage),
      TextContent: ofType("text"),
      ToolUseContent: ofType("tool_use"),
      ThinkingContent: ofType("thinking"),
      ToolResult: ofType("tool_result"),
      ToolCall: await getToolCalls(SESSION, config),
      AgentSession: [agent],
      PaginatedResult: [list, found],
      Pagination: [list.pagination, found.pagination],
      SearchMatch: found.data,
      SessionNotFoundError: [new SessionNotFoundError("x")],
      WorkspaceNotFoundError: [new WorkspaceNotFoundError("/x")],
      DataNotFoundError: [new DataNotFoundError("/x")],
    };
  } finally {
    await rm(dataPath, { recursive: true, force: true });
  }
}

async function writeDirectory(dataPath: string): Promise<void> {
  const folder = join(dataPath, "projects", "-home-dev-project-name");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, `${SESSION}.jsonl`),
    text([{ type: "summary", summary: "A chart", leafUuid: "u4" }, ...conversation()]),
  );
  await writeFile(join(folder, `agent-${AGENT}.jsonl`), text(conversation({ isSidechain: true, agentId: AGENT })));
}

const text = (lines: readonly object[]): string => `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;

function conversation(extra: object = {}): readonly object[] {
  const line = (uuid: string, parentUuid: string | null, rest: object) => ({
    uuid: `00000000-0000-4000-8000-0000000000${uuid}`,
    parentUuid: parentUuid === null ? null : `00000000-0000-4000-8000-0000000000${parentUuid}`,
    timestamp: `2025-12-26T12:58:${uuid}.099Z`,
    sessionId: SESSION,
    cwd: PROJECT,
    version: "2.0.76",
    gitBranch: "main",
    userType: "external",
    isSidechain: false,
    ...extra,
    ...rest,
  });
  const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 2, cache_read_input_tokens: 3 };
  const call = { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } };
  const content = [
    { type: "thinking", thinking: "hm", signature: "s" },
    { type: "text", text: "A chart, then." },
    call,
  ];
  const answer = {
    model: "claude-opus-4-5-20251101",
    id: "msg_1",
    type: "message",
    role: "assistant",
    stop_reason: "tool_use",
  };
  return [
    line("01", null, { type: "user", message: { role: "user", content: "Draw a chart" } }),
    line("02", "01", { type: "assistant", message: { ...answer, content, stop_sequence: null, usage } }),
    line("03", "02", {
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "chart.png" }] },
    }),
    {
      type: "file-history-snapshot",
      messageId: "00000000-0000-4000-8000-000000000001",
      isSnapshotUpdate: false,
      snapshot: {
        messageId: "00000000-0000-4000-8000-000000000001",
        timestamp: "2025-12-26T12:58:03.099Z",
        trackedFileBackups: {},
      },
    },
  ];
}
