import { join } from "node:path";
import { scripted } from "../../../server/test/world.ts";
import { claudeServer } from "../../../server/test/dialects/claude/server.ts";
import { all, only, open } from "../../../server/test/dialects/claude/world.ts";

/** A PNG image of one pixel in base64. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Samples = Readonly<Record<string, readonly Record<string, unknown>[]>>;

/**
 * Records answers of the Claude API with the real Claude Code. The result maps the names of the specified schemas to
 * the answers.
 */
export async function claudeSamples(): Promise<Samples> {
  const server = await claudeServer();
  try {
    const file = join(server.work, "sample.txt");
    const first = await all(server, "/api/v1/query", {
      prompt: scripted("sample-1", [
        { thinking: "Hm.", text: "I write.", tools: [{ name: "Write", input: { file_path: file, content: "x" } }] },
        { tools: [{ name: "Read", input: { file_path: `${file}.missing` } }] },
        { error: { status: 529, type: "overloaded_error", message: "Busy.", times: 1 }, text: "Done." },
      ]),
      images: [{ media_type: "image/png", data: PNG }],
      cwd: server.work,
      permission_mode: "acceptEdits",
      enable_file_checkpointing: true,
      include_partial_messages: true,
    });
    const id = only(first, "init").data.session_id;
    const path = `/api/v1/sessions/${id}`;
    const asked = await open(server, `${path}/resume`, {
      prompt: scripted("sample-2", [
        {
          tools: [
            {
              name: "AskUserQuestion",
              input: {
                questions: [
                  {
                    question: "Which?",
                    header: "W",
                    multiSelect: false,
                    options: [
                      { label: "A", description: "a" },
                      { label: "B", description: "b" },
                    ],
                  },
                ],
              },
            },
          ],
        },
        { text: "End." },
      ]),
    });
    await asked.until(({ event }) => event === "question");
    await server.call("POST", `${path}/answer`, { answer: "A" });
    await asked.end();
    const turn = { tools: [{ name: "Read", input: { file_path: file } }] };
    const failed = await all(server, `${path}/resume`, { prompt: scripted("sample-3", [turn, turn]), max_turns: 1 });
    const inner = scripted("sample-inner", [{ text: "Inside." }]);
    const forked = await all(server, `${path}/fork`, {
      prompt: scripted("sample-4", [
        { tools: [{ name: "Task", input: { description: "Look", prompt: inner, subagent_type: "general-purpose" } }] },
        { text: "Out." },
      ]),
      allowed_tools: ["Task"],
    });
    const hung = await open(server, `${path}/resume`, { prompt: scripted("sample-5", [{ hang: true }]) });
    await hung.until(({ event }) => event === "init");
    const running = (await server.call("GET", path)).body;
    await server.call("POST", `${path}/interrupt`);
    const frames = [first, asked.frames, failed, forked, await hung.end()].flat();
    const { body: list } = await server.call("GET", "/api/v1/sessions");
    const { body: checkpoints } = await server.call("GET", `${path}/checkpoints`);
    const { body: messages } = await server.call("GET", `${path}/messages`);
    const { body: health } = await server.call("GET", "/api/v1/health");
    const fork = (await server.call("GET", `/api/v1/sessions/${only(forked, "init").data.session_id}`)).body;
    const sessions = [running, (await server.call("GET", path)).body, fork];
    const of = (event: string): Record<string, unknown>[] =>
      frames.filter((frame) => frame.event === event).map(({ data }) => data);
    const blocks = of("message").flatMap(({ content }) => content as Record<string, unknown>[]);
    const ofType = (type: string): Record<string, unknown>[] => blocks.filter((block) => block["type"] === type);
    const deltas = of("partial").flatMap(({ delta }) => (delta ? [delta as Record<string, unknown>] : []));
    const deltasOf = (type: string): Record<string, unknown>[] => deltas.filter((delta) => delta["type"] === type);
    const results = of("result");
    return {
      StreamEvent: frames as unknown as Record<string, unknown>[],
      InitEventData: of("init"),
      MessageEventData: of("message"),
      AssistantMessage: of("message").filter(({ type }) => type === "assistant"),
      ContentBlock: blocks,
      TextBlock: ofType("text"),
      ThinkingBlock: ofType("thinking"),
      ToolUseBlock: ofType("tool_use"),
      ToolResultBlock: ofType("tool_result"),
      PartialMessageEventData: of("partial"),
      PartialStart: of("partial").filter(({ type }) => type === "content_block_start"),
      PartialDelta: of("partial").filter(({ type }) => type === "content_block_delta"),
      ContentDelta: deltas,
      TextDelta: deltasOf("text_delta"),
      ThinkingDelta: deltasOf("thinking_delta"),
      InputDelta: deltasOf("input_json_delta"),
      QuestionEventData: of("question"),
      ResultEventData: results,
      Usage: results.flatMap(({ usage, model_usage }) => [
        usage as Record<string, unknown>,
        ...Object.values(model_usage as Record<string, Record<string, unknown>>),
      ]),
      ErrorEventData: of("error"),
      DoneEventData: of("done"),
      SessionResponse: sessions,
      SessionListResponse: [list],
      CheckpointResponse: checkpoints["checkpoints"] as Record<string, unknown>[],
      CheckpointListResponse: [checkpoints],
      SessionMessage: messages["messages"] as Record<string, unknown>[],
      HealthResponse: [health],
      DependencyStatus: Object.values(health["dependencies"] as Record<string, Record<string, unknown>>),
    };
  } finally {
    await server.close();
  }
}
