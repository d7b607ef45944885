import { describe, expect, test } from "vitest";
import { getAgentSession, getSession, getToolCalls, isSessionNotFoundError, listSessions } from "../src/index.ts";
import { conversation, createDataDirectory, jsonLines, sessionId } from "./data-directory.ts";

describe("a session", () => {
  test("a session is found by its position in the list, its id and the beginning of its id", async () => {
    const data = createDataDirectory();
    data.session(sessionId(11), [conversation("2026-11-01T10:00:00.000Z").user("older")]);
    data.session(sessionId(12), [conversation("2026-11-02T10:00:00.000Z").user("newer")]);
    expect((await getSession(0, data.config)).id).toBe(sessionId(12));
    expect((await getSession(sessionId(11), data.config)).id).toBe(sessionId(11));
    expect((await getSession("00000011", data.config)).id).toBe(sessionId(11));
    for (const wrong of [2, -1, 0.5, "", "ffff", "../x", "0000001"]) {
      await expect(getSession(wrong, data.config), String(wrong)).rejects.toSatisfy(isSessionNotFoundError);
    }
  });

  test("a session has all lines, merges the lines of an answer, and keeps unknown types and blocks", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const message = { id: "msg_1" };
    const future = { type: "from-the-future", payload: { deep: [1, 2] } };
    data.session(sessionId(1), [
      talk.user("q"),
      talk.answer([{ type: "thinking", thinking: "hm" }], {
        message: { ...message, usage: { output_tokens: 1, input_tokens: 5 } },
      }),
      talk.answer([{ type: "text", text: "a" }], { message }),
      talk.answer([{ type: "novel_block", x: 1 }], {
        message: { ...message, usage: { output_tokens: 50, input_tokens: 5 } },
      }),
      future,
      { type: "summary", summary: "s", leafUuid: "x" },
    ]);
    const session = await getSession(0, data.config);
    expect(session.messages.map(({ type }) => type)).toEqual(["user", "assistant", "from-the-future", "summary"]);
    const [, answer, unknown] = session.messages;
    expect(answer).toMatchObject({
      content: [{ type: "thinking" }, { type: "text" }, { type: "novel_block", x: 1 }],
      usage: { inputTokens: 10, outputTokens: 50 },
      lineCount: 3,
      stopReason: "end_turn",
    });
    expect(unknown?.raw).toEqual(future);
    expect(unknown?.timestampIsInferred).toBe(true);
    expect(session.messageCount).toBe(2);
    expect(session.messages.reduce((sum, { lineCount }) => sum + lineCount, 0)).toBe(6);
  });

  test("a tool result that is an array has all its parts as text", async () => {
    const data = createDataDirectory();
    const parts = [
      { type: "text", text: "one" },
      { type: "image", source: { type: "base64", data: "AA==" } },
    ];
    data.session(sessionId(1), [
      conversation().user([{ type: "tool_result", tool_use_id: "t", content: parts, is_error: true }]),
    ]);
    const [message] = (await getSession(0, data.config)).messages;
    expect(message?.content).toEqual([
      { type: "tool_result", toolUseId: "t", content: "one\n[image]", isError: true, parts },
    ]);
  });

  test("a session with a damaged line reports the file and the line number, and has all other lines", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const path = data.session(sessionId(1), [talk.user("a")]);
    data.append(`projects/-work-app/${sessionId(1)}.jsonl`, `{"broken\n${jsonLines([talk.answer("b")])}`);
    const session = await getSession(0, data.config);
    expect(session.damage).toMatchObject([{ path, line: 2, kind: "not-json" }]);
    expect(session.messages.length).toBe(2);
    expect((await listSessions(data.config)).data[0]?.messageCount).toBe(2);
  });
});

describe("threads", () => {
  test("a rewind is a branch, and only the last branch is active", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const first = talk.user("start");
    const answer = talk.answer("done");
    const left = talk.user("wrong way");
    const leftAnswer = talk.answer("oh");
    const right = talk.user("right way", { parentUuid: answer["uuid"] });
    const rightAnswer = talk.answer("good");
    data.session(sessionId(1), [first, answer, left, leftAnswer, right, rightAnswer]);
    const session = await getSession(0, data.config);
    expect(session.branches).toEqual([{ atUuid: answer["uuid"], childUuids: [left["uuid"], right["uuid"]] }]);
    const active = (await getSession(0, { ...data.config, activeOnly: true })).messages.map(({ uuid }) => uuid);
    expect(active).toEqual([first, answer, right, rightAnswer].map((line) => line["uuid"]));
    expect(session.messages.length).toBe(6);
  });

  test("a rewind to the first prompt is a branch", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const left = [talk.user("first try"), talk.answer("no")];
    const right = [talk.user("second try", { parentUuid: null }), talk.answer("yes")];
    data.session(sessionId(1), [...left, ...right]);
    const session = await getSession(0, data.config);
    expect(session.branches).toEqual([{ atUuid: null, childUuids: [left[0]?.["uuid"], right[0]?.["uuid"]] }]);
    expect(session.messages.map(({ isActive }) => isActive)).toEqual([false, false, true, true]);
  });

  test("hooks, compactions, lines after a compaction and lines of another session are not branches", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const root = { parentUuid: null };
    data.session(sessionId(1), [
      talk.line("attachment", { ...root, attachment: { type: "hook_success" } }),
      talk.user("copied", { ...root, sessionId: "another" }),
      talk.user("hello", root),
      talk.answer("hi"),
      talk.line("system", { ...root, subtype: "compact_boundary" }),
      talk.user("summary", { isCompactSummary: true }),
      talk.user("<local-command-stdout>x</local-command-stdout>", root),
      talk.user("go on", root),
    ]);
    expect((await getSession(0, data.config)).branches).toEqual([]);
  });

  test("parallel tool results, hooks, progress and replays are not branches", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const message = { id: "msg_tools" };
    const prompt = talk.user("go");
    const one = talk.answer([{ type: "tool_use", id: "t1", name: "Read", input: {} }], { message });
    const two = talk.answer([{ type: "tool_use", id: "t2", name: "Read", input: {} }], { message });
    const resultOne = talk.user([{ type: "tool_result", tool_use_id: "t1", content: "1" }], {
      parentUuid: one["uuid"],
    });
    const resultTwo = talk.user([{ type: "tool_result", tool_use_id: "t2", content: "2" }], {
      parentUuid: two["uuid"],
    });
    const progress = talk.line("progress", { parentUuid: two["uuid"], data: { type: "hook_progress" } });
    const next = talk.answer("done", { parentUuid: resultTwo["uuid"] });
    const replay = talk.answer("done", { parentUuid: resultTwo["uuid"], timestamp: next["timestamp"] });
    data.session(sessionId(1), [prompt, one, two, resultOne, resultTwo, progress, next, replay]);
    const session = await getSession(0, data.config);
    expect(session.branches).toEqual([]);
    expect(session.messages.every(({ isActive }) => isActive)).toBe(true);
  });

  test("cycles, missing parents and lines that are their own parent do not stop the reader", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      talk.user("a", { uuid: "a", parentUuid: "b" }),
      talk.answer("b", { uuid: "b", parentUuid: "a" }),
      talk.user("c", { uuid: "c", parentUuid: "c" }),
      talk.user("d", { uuid: "d", parentUuid: "nobody" }),
      talk.user("d again", { uuid: "d", parentUuid: "a" }),
    ]);
    expect((await getSession(0, data.config)).messages.length).toBe(5);
  });

  test("a session stays active if the parent of its first line was rewound", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const lines = [
      talk.user("start", { uuid: "start", parentUuid: "left-answer" }),
      talk.answer("done", { uuid: "answer" }),
      talk.user("wrong way", { uuid: "left" }),
      talk.answer("oh", { uuid: "left-answer" }),
      talk.user("right way", { uuid: "right", parentUuid: "answer" }),
    ];
    data.session(sessionId(1), lines);
    const { messages } = await getSession(0, { ...data.config, activeOnly: true });
    expect(messages.map(({ uuid }) => uuid)).toEqual(["start", "answer", "right"]);
  });

  test("messages before a compaction are in the session but not active", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      talk.user("long ago"),
      talk.answer("yes"),
      talk.line("system", {
        subtype: "compact_boundary",
        parentUuid: null,
        logicalParentUuid: "x",
        content: "compacted",
      }),
      talk.user("summary", { isCompactSummary: true }),
      talk.user("now"),
    ]);
    const { messages } = await getSession(0, data.config);
    expect(messages.map(({ isCompacted }) => isCompacted)).toEqual([true, true, false, false, false]);
    const active = (await getSession(0, { ...data.config, activeOnly: true })).messages;
    expect(active.map(({ type }) => type)).toEqual(["system", "user", "user"]);
  });

  test("messages before a compaction stay active if no summary replaces them", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      talk.user("long ago"),
      talk.line("system", { subtype: "compact_boundary", content: "compacted" }),
      talk.user("now"),
    ]);
    const { messages } = await getSession(0, { ...data.config, activeOnly: true });
    expect(messages.map(({ type, isCompacted }) => [type, isCompacted])).toEqual([
      ["user", true],
      ["system", false],
      ["user", false],
    ]);
  });
});

describe("tools and subagents", () => {
  test("every tool call has its result, or null if the result is missing", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      talk.answer([{ type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } }]),
      talk.user([{ type: "tool_result", tool_use_id: "t1", content: "a.txt", is_error: false }], {
        toolUseResult: { stdout: "a.txt" },
      }),
      talk.answer([{ type: "tool_use", id: "t2", name: "Read", input: { file_path: "/x" } }]),
    ]);
    const calls = await getToolCalls(0, data.config);
    expect(calls).toMatchObject([
      {
        id: "t1",
        name: "Bash",
        input: { command: "ls" },
        result: "a.txt",
        isError: false,
        durationMs: 1000,
        toolUseResult: { stdout: "a.txt" },
      },
      { id: "t2", name: "Read", result: null, isError: false, durationMs: null },
    ]);
  });

  test("a subagent is linked to the tool call that started it by metadata, the result, its text, a notification, the prompt or the progress", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const call = (id: string, prompt: string): object => ({ type: "tool_use", id, name: "Agent", input: { prompt } });
    data.session(sessionId(1), [
      talk.answer([
        call("t-meta", "p0"),
        call("t-result", "p1"),
        call("t-text", "p2"),
        call("t-note", "p3"),
        call("t-prompt", "find  it"),
      ]),
      talk.user([{ type: "tool_result", tool_use_id: "t-result", content: "ok" }], {
        toolUseResult: { agentId: "a1", totalDurationMs: 1234, agentType: "Explore", status: "completed" },
      }),
      talk.user([{ type: "tool_result", tool_use_id: "t-text", content: "done\nagentId: abcdef2" }]),
      {
        type: "queue-operation",
        operation: "enqueue",
        content: "<task-notification><task-id>a3</task-id><tool-use-id>t-note</tool-use-id></task-notification>",
      },
      talk.line("progress", {
        parentToolUseID: "t-progress",
        data: { type: "agent_progress", agentId: "a5", message: { type: "user", message: { content: "inline" } } },
      }),
    ]);
    const agent = (id: string, prompt: string): void => {
      const side = conversation("2026-11-01T12:00:00.000Z", {
        isSidechain: true,
        agentId: id,
        sessionId: sessionId(1),
      });
      const lines = [
        side.user(prompt),
        side.answer([{ type: "tool_use", id: "x", name: "Grep", input: {} }], { message: { id: `m-${id}` } }),
        side.answer("end", { message: { id: `n-${id}` } }),
      ];
      data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-${id}.jsonl`, jsonLines(lines));
    };
    agent("a0", "p0");
    data.write(
      `projects/-work-app/${sessionId(1)}/subagents/agent-a0.meta.json`,
      JSON.stringify({ agentType: "Plan", toolUseId: "t-meta" }),
    );
    agent("a1", "p1");
    agent("abcdef2", "p2");
    agent("a3", "p3");
    agent("a4", "find it");
    const { agents } = await getSession(0, data.config);
    const links = Object.fromEntries(
      agents.map(({ agentId, toolUseId, linkedBy }) => [agentId, [toolUseId, linkedBy]]),
    );
    expect(links).toEqual({
      a0: ["t-meta", "meta"],
      a1: ["t-result", "result"],
      abcdef2: ["t-text", "text"],
      a3: ["t-note", "notification"],
      a4: ["t-prompt", "prompt"],
      a5: ["t-progress", "progress"],
    });
    expect(await getAgentSession("agent-a1", data.config)).toMatchObject({
      agentId: "a1",
      parentSessionId: sessionId(1),
      prompt: "p1",
      model: "claude-opus-5",
      agentType: "Explore",
      totalDurationMs: 1234,
      totalTokens: 60,
      totalToolUseCount: 1,
    });
    expect((await getAgentSession("a4", data.config)).totalDurationMs).toBe(2000);
    expect((await getAgentSession("a5", data.config)).prompt).toBe("inline");
    await expect(getAgentSession("nobody", data.config)).rejects.toSatisfy(isSessionNotFoundError);
  });
});
