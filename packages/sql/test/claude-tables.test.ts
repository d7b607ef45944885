import { getUsage, readLines } from "@skein/history";
import { writeCorpus } from "@skein/history/testing";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ask, folder, open, write } from "./sql.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const at = (second: number): string => `2026-10-01T10:00:${`${second}`.padStart(2, "0")}.000Z`;
const answer = (uuid: string, message: object, more: object = {}): object => ({
  type: "assistant",
  uuid,
  timestamp: at(2),
  sessionId: SESSION,
  cwd: "/home/dev/app",
  message: { role: "assistant", model: "claude-opus-4-5-20251101", ...message },
  ...more,
});

describe("usage", () => {
  test("claude.responses has the same sums as the history library, on a generated corpus", async () => {
    const root = folder();
    writeCorpus({ folder: root, files: 30, bytes: 3_000_000 });
    await expectSameUsage(root);
  });

  test("claude.responses and the history library agree on copies, placeholders, side chains, missing request ids, searches and unknown models", async () => {
    const root = folder();
    const usage = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 300, speed: "fast" };
    const whole = {
      ...usage,
      output_tokens: 50,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
    };
    write(root, `projects/p/${SESSION}.jsonl`, [
      answer("a1", { id: "msg_1", usage }, { requestId: "req_1" }),
      answer("a2", { id: "msg_1", usage: whole }, { requestId: "req_1" }),
      answer("a3", { id: "msg_1", usage: whole }),
      answer("a4", { id: "msg_1", usage: whole }, { requestId: "req_9", isSidechain: true }),
      answer("a5", { id: "msg_1", usage: whole }, { requestId: "req_2" }),
      answer("a6", { usage: whole }),
      answer("a7", { id: "msg_2", model: "nobody-knows", usage: whole }),
      answer("a8", { id: "msg_3", model: "<synthetic>", usage: whole }),
      answer("a9", { id: "msg_4", usage: { input_tokens: "many", output_tokens: 7 } }),
      {
        type: "progress",
        uuid: "p1",
        timestamp: at(3),
        data: { type: "agent_progress", message: answer("p2", { id: "msg_5", usage: whole }) },
      },
      {
        type: "user",
        uuid: "u1",
        timestamp: at(4),
        message: { role: "user", content: [] },
        toolUseResult: { searchCount: 3 },
      },
    ]);
    write(root, "projects/p/11111111-8d87-49a7-9100-7f0e83f29a10.jsonl", [
      answer("a1", { id: "msg_1", usage: { ...whole, output_tokens: 60 } }, { requestId: "req_1", timestamp: at(9) }),
      answer(
        "b1",
        { id: "msg_6", usage: { ...whole, server_tool_use: { web_search_requests: 2 } } },
        { timestamp: at(9) },
      ),
    ]);
    await expectSameUsage(root);
  });

  test("claude.responses and the history library find the same projects in JSON with spaces and for subagents of an empty session", async () => {
    const root = folder();
    const usage = { input_tokens: 10, output_tokens: 5 };
    const spaced = JSON.stringify(answer("a1", { id: "msg_1", usage })).replaceAll(/":(?=["{])/g, '": ');
    write(root, `projects/p/${SESSION}.jsonl`, `${spaced}\n`);
    write(root, "projects/q/11111111-8d87-49a7-9100-7f0e83f29a10.jsonl", "");
    write(root, "projects/q/agent-a1.jsonl", [
      answer("b1", { id: "msg_2", usage }, { sessionId: "11111111-8d87-49a7-9100-7f0e83f29a10", isSidechain: true }),
    ]);
    await expectSameUsage(root);
    const sql = await open(root);
    expect(await ask(sql, "SELECT DISTINCT project_path AS path FROM claude.responses")).toEqual([
      { path: "/home/dev/app" },
    ]);
  });

  async function expectSameUsage(root: string): Promise<void> {
    const usage = await getUsage({ dataPath: root, cacheFolder: null, timeZone: "UTC" });
    const { totals, byDay } = usage;
    const sql = await open(root);
    const sums = `sum(input_tokens) AS "inputTokens", sum(output_tokens) AS "outputTokens",
      sum(cache_creation_input_tokens) AS "cacheCreationInputTokens",
      sum(cache_creation_1h_input_tokens) AS "cacheCreation1hInputTokens", sum(cache_read_input_tokens) AS "cacheReadInputTokens",
      sum(web_search_requests) AS "webSearchRequests", sum(calls) AS calls, round(sum(cost_usd) * 1000000)::BIGINT AS "costMicros"`;
    const { costUsd: _usd, unpricedCalls, ...counted } = totals;
    expect(await ask(sql, `SELECT ${sums} FROM claude.responses`)).toEqual([counted]);
    expect(
      await ask(sql, "SELECT coalesce(sum(calls), 0) AS n FROM claude.responses WHERE cost_micros IS NULL"),
    ).toEqual([{ n: unpricedCalls }]);
    expect(
      await ask(
        sql,
        "SELECT timestamp::DATE AS date, sum(calls) AS calls FROM claude.responses GROUP BY ALL ORDER BY ALL",
      ),
    ).toEqual(byDay.map(({ date, calls }) => ({ date, calls })));
    for (const [column, groups] of [
      ["project_path", usage.byProject.map(({ projectPath, calls }) => ({ of: projectPath, calls }))],
      ["session_id", usage.bySession.map(({ sessionId, calls }) => ({ of: sessionId, calls }))],
    ] as const)
      expect(
        await ask(sql, `SELECT ${column} AS of, sum(calls) AS calls FROM claude.responses GROUP BY 1 ORDER BY 1`),
      ).toEqual(groups.toSorted((a, b) => (a.of < b.of ? -1 : 1)));
  }
});

test("the first query about usage includes answers in damaged lines, and leaves out answers without readable token counts", async () => {
  const root = folder();
  const usage = { input_tokens: 10, output_tokens: 5 };
  const line = (value: object): string => JSON.stringify(value);
  write(
    root,
    `projects/p/${SESSION}.jsonl`,
    [
      `${line(answer("a1", { id: "msg_1", usage }))}${line(answer("a2", { id: "msg_2", usage }))}`,
      line(answer("a3", { id: "msg_3", usage, content: "half" })).replace("half", String.raw`\ud83d`),
      line(answer("a4", { id: "msg_4", usage: { ...usage, input_tokens: "many", output_tokens: 1e300 } })),
      line({ ...answer("a5", { id: "msg_5", usage }), data: "no object" }),
      line({ type: "user", uuid: "u1", message: "no object", toolUseResult: "Error: no object" }),
      line({ type: "user", uuid: "u2", message: {}, toolUseResult: [{ searchCount: 1 }] }),
      line({ type: "assistant", uuid: "a6", message: { usage: [1] } }),
      line({ uuid: "without a type", message: { usage } }),
    ].join("\n"),
  );
  const sql = await open(root);
  const rows = await ask(
    sql,
    "SELECT response_id AS id, input_tokens AS i, output_tokens AS o FROM claude.responses ORDER BY id",
  );
  // The answers a4 and a6 have no readable token count, so they do not count as calls.
  expect(rows.map(({ id, i, o }) => `${text(id)} ${Number(i)} ${Number(o)}`)).toEqual([
    "msg_1 10 5",
    "msg_2 10 5",
    "msg_3 10 5",
    "msg_5 10 5",
  ]);
});

describe("damage", () => {
  const good = (type: string): string => `{"type":"${type}","uuid":"${type}"}`;
  const lines: readonly (string | Uint8Array)[] = [
    `\u{FEFF}${good("marked")}`,
    good("first"),
    "",
    "this is no JSON",
    String.raw`{"type":"half","uuid":"half","content":"\ud83d"}`,
    Buffer.from('{"type":"bytes","uuid":"bytes","content":"\u00FF"}', "latin1"),
    `${good("left")}${good("right")}`,
    "[1]",
    '{"type":{"odd":true},"uuid":7,"timestamp":[],"message":"text"}',
    `{"type":"long","content":"${"x".repeat(20_000_000)}"}`,
    `${good("crlf")}\r`,
    '{"type":"torn","uu',
  ];
  const file = Buffer.concat(
    lines.flatMap((line, index) => [Buffer.from(index === 0 ? "" : "\n"), Buffer.from(line as string)]),
  );

  test("queries succeed and see every good row next to damaged lines", { timeout: 120_000 }, async () => {
    const root = folder("skein [odd] *?-");
    write(root, "projects/p/damaged.jsonl", file);
    write(root, "projects/p/empty.jsonl", "");
    write(root, `projects/p/${SESSION}.jsonl`, `${good("whole")}\n`);
    const sql = await open(root);
    const types = await ask(
      sql,
      "SELECT message_type AS t FROM claude_conversations WHERE message_uuid IS NOT NULL ORDER BY file, line, t",
    );
    expect(types.map(({ t }) => t)).toEqual([
      "whole",
      "marked",
      "first",
      "half",
      "bytes",
      "left",
      "right",
      '{"odd":true}',
      "crlf",
    ]);
    expect(await ask(sql, "SELECT count(*) AS n FROM claude.lines")).toEqual([{ n: 10 }]);
    const damage = await ask(sql, "SELECT line, kind FROM claude.damage ORDER BY line");
    expect(damage.map(({ line, kind }) => `${Number(line)} ${text(kind)}`)).toEqual([
      "3 not-json",
      "4 half-surrogate",
      "5 invalid-utf8",
      "6 glued",
      "7 not-an-object",
      "9 too-long",
      "11 torn",
    ]);
    for (const table of [
      "messages",
      "responses",
      "tool_calls",
      "agents",
      "file_versions",
      "branches",
      "sessions",
      "tasks",
    ])
      await expect(ask(sql, `SELECT * FROM claude.${table}`)).resolves.toBeInstanceOf(Array);
  });

  test(
    "a line that is too long has cut texts, is listed in claude.damage, and leaves all other lines readable",
    { timeout: 120_000 },
    async () => {
      const root = folder();
      const length = 33 * 2 ** 20;
      write(
        root,
        "projects/p/a.jsonl",
        `${good("one")}\n{"type":"long","content":"${"x".repeat(length)}"}\n\n${good("two")}\n{"tor`,
      );
      write(root, "projects/p/b.jsonl", `${good("three")}\n`);
      const sql = await open(root);
      const question =
        "SELECT message_type AS t, line, strlen(content) AS n FROM claude_conversations ORDER BY file, line";
      expect(await ask(sql, question)).toEqual([
        { t: "one", line: 1, n: null },
        { t: "long", line: 2, n: 2 ** 20 },
        { t: "two", line: 3, n: null },
        { t: "three", line: 1, n: null },
      ]);
      expect(await ask(sql, "SELECT line, kind FROM claude.damage ORDER BY line")).toEqual([
        { line: 2, kind: "too-long" },
        { line: 4, kind: "torn" },
      ]);
      expect(await ask(sql, "SELECT count(*) AS n FROM claude.lines")).toEqual([{ n: 4 }]);
    },
  );

  test.each([5, 15_000])("a streamed answer has every good row of a damaged file with %i rows", async (count) => {
    const root = folder();
    const lines = Array.from({ length: count }, (_, number) => good(`t${number}`));
    write(root, "projects/p/a.jsonl", [...lines, `${good("left")}${good("right")}`, "no JSON", ""].join("\n"));
    const sql = await open(root);
    const seen: unknown[] = [];
    for await (const { rows } of sql.stream("SELECT message_type FROM claude_conversations"))
      for await (const some of rows) seen.push(...some.map(([type]) => type));
    expect(seen).toHaveLength(count + 2);
    expect(seen).toEqual(expect.arrayContaining(["t0", `t${count - 1}`, "left", "right"]));
  });

  test("the next query numbers the new lines of a file correctly, and reports a new file that is skipped", async () => {
    const root = folder();
    write(root, "projects/p/a.jsonl", `${good("one")}\n`);
    write(root, "projects/p/b.jsonl", `${good("two")}\n`);
    const sql = await open(root);
    const question = "SELECT message_type AS t, line FROM claude_conversations ORDER BY file, line";
    expect(await ask(sql, question)).toEqual([
      { t: "one", line: 1 },
      { t: "two", line: 1 },
    ]);
    write(root, "projects/p/a.jsonl", `${good("one")}\n${good("more")}\n`);
    expect(await ask(sql, question)).toEqual([
      { t: "one", line: 1 },
      { t: "more", line: 2 },
      { t: "two", line: 1 },
    ]);
    expect(await ask(sql, "SELECT kind FROM claude.damage")).toEqual([]);
    write(root, "projects/p/c.jsonl.backup", "left over");
    expect(await ask(sql, "SELECT kind FROM claude.damage")).toEqual([{ kind: "skipped" }]);
  });
});

test("claude_conversations has the correct line number for every line", async () => {
  const root = folder();
  writeCorpus({ folder: root, files: 12, bytes: 2_000_000 });
  const sql = await open(root);
  const rows = await ask(
    sql,
    "SELECT file, line, message_uuid FROM claude_conversations WHERE message_uuid IS NOT NULL",
  );
  const places = new Map(rows.map(({ file, line, message_uuid }) => [message_uuid, `${text(file)}:${Number(line)}`]));
  let checked = 0;
  for (const path of new Set(rows.map(({ file }) => text(file)))) {
    readLines(path, {
      line: ({ line, value }) => {
        if (value["uuid"] === undefined) return;
        checked += 1;
        expect(places.get(value["uuid"] as string)).toBe(`${path}:${line}`);
      },
      damage: () => {},
    });
  }
  expect(checked).toBe(rows.length);
});

test("the claude tables join tool calls with results, subagents with calls, prompts with branches and files with versions", async () => {
  const root = folder();
  const user = (uuid: string, parentUuid: string | null, content: unknown, more: object = {}): object => ({
    type: "user",
    uuid,
    parentUuid,
    timestamp: at(Number(uuid.slice(1))),
    cwd: "/home/dev/app",
    message: { role: "user", content },
    ...more,
  });
  const calls = ["t1", "t2"].map((id) => ({ type: "tool_use", id, name: "Bash", input: { command: id } }));
  write(root, `projects/p/${SESSION}.jsonl`, [
    user("u1", null, "<ide_opened_file>a.ts</ide_opened_file> do it"),
    answer("a1", { id: "m1", content: [{ type: "text", text: "Sure." }] }, { parentUuid: "u1" }),
    answer("a2", { id: "m1", content: calls, stop_reason: "tool_use" }, { parentUuid: "a1" }),
    user(
      "u5",
      "a2",
      [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "no" }], is_error: true }],
      {
        toolUseResult: { agentId: "a64f14a" },
      },
    ),
    user("u7", "a1", "first try"),
    user("u9", "a1", "second try"),
    {
      type: "file-history-snapshot",
      messageId: "u1",
      snapshot: {
        messageId: "u1",
        timestamp: at(1),
        trackedFileBackups: {
          "src/a.b/~x.ts": { backupFileName: "a1a38b086cb7d247@v2", version: 2, backupTime: at(1) },
        },
      },
    },
  ]);
  write(root, `projects/p/${SESSION}/subagents/agent-a64f14a.jsonl`, [user("u1", null, "look", { isSidechain: true })]);
  write(root, `projects/p/${SESSION}/subagents/agent-a64f14a.meta.json`, '{"agentType":"Explore"}');
  const sql = await open(root);
  expect(
    await ask(
      sql,
      "SELECT tool_use_id, input, result, is_error, is_answered, duration_ms FROM claude.tool_calls ORDER BY ALL",
    ),
  ).toEqual([
    { tool_use_id: "t1", input: { command: "t1" }, result: "no", is_error: true, is_answered: true, duration_ms: 3000 },
    {
      tool_use_id: "t2",
      input: { command: "t2" },
      result: null,
      is_error: null,
      is_answered: false,
      duration_ms: null,
    },
  ]);
  expect(await ask(sql, "SELECT tool_uses FROM claude_conversations WHERE tool_uses IS NOT NULL")).toEqual([
    { tool_uses: calls },
  ]);
  expect(await ask(sql, "SELECT agent_id, session_id, agent_type, tool_use_id, prompt FROM claude.agents")).toEqual([
    { agent_id: "a64f14a", session_id: SESSION, agent_type: "Explore", tool_use_id: "t1", prompt: "look" },
  ]);
  expect(await ask(sql, "SELECT at_uuid, child_uuids, prompts FROM claude.branches")).toEqual([
    { at_uuid: "a1", child_uuids: ["u7", "u9"], prompts: ["first try", "second try"] },
  ]);
  expect(
    await ask(sql, "SELECT human_prompt FROM claude.messages WHERE human_prompt IS NOT NULL ORDER BY line"),
  ).toEqual([{ human_prompt: "do it" }, { human_prompt: "first try" }, { human_prompt: "second try" }]);
  expect(await ask(sql, "SELECT text, tool_calls, line_count FROM claude.messages WHERE message_id = 'm1'")).toEqual([
    { text: "Sure.", tool_calls: 2, line_count: 2 },
  ]);
  expect(await ask(sql, "SELECT path, version, backup_file_name, message_uuid FROM claude.file_versions")).toEqual([
    { path: "src/a.b/~x.ts", version: 2, backup_file_name: "a1a38b086cb7d247@v2", message_uuid: "u1" },
  ]);
});

test("a query about messages does not compute columns that it does not select", async () => {
  const root = folder();
  writeCorpus({ folder: root, files: 2, bytes: 20_000 });
  const sql = await open(root);
  const plan = async (columns: string): Promise<string> =>
    JSON.stringify(await ask(sql, `EXPLAIN SELECT ${columns} FROM claude.messages`));
  const held = /string_agg|skein_prompt|CTE/;
  expect(await plan("text")).toMatch(held);
  expect(await plan("count(*), min(role), sum(tool_calls), count(model)")).not.toMatch(held);
});

test("the tables of plans, todos, history, stats and tasks have the rows of their files", async () => {
  const root = folder();
  write(root, "plans/keen-juggling-origami.md", "# Plan");
  write(root, `todos/${SESSION}-agent-${SESSION}.json`, '[{"content":"c","status":"pending","activeForm":"doing c"}]');
  write(root, "history.jsonl", [
    { display: "hello", pastedContents: { 1: { id: 1 } }, timestamp: 1760110675230, project: "/p" },
  ]);
  write(
    root,
    "stats-cache.json",
    JSON.stringify({
      version: 1,
      lastComputedDate: "2026-09-30",
      dailyActivity: [{ date: "2026-09-30", messageCount: 4, sessionCount: 2, toolCallCount: 1 }],
    }),
  );
  write(root, `projects/p/${SESSION}.jsonl`, [answer("a1", { id: "m1", content: [] })]);
  write(root, "tasks/list/1.json", '{"id":"1","subject":"s","status":"pending","blocks":[],"blockedBy":["2"]}');
  const sql = await open(root);
  expect(await ask(sql, "SELECT plan_name, slug, content, file_size FROM claude_plans")).toEqual([
    { plan_name: "keen-juggling-origami", slug: "keen-juggling-origami", content: "# Plan", file_size: 6 },
  ]);
  expect(await ask(sql, "SELECT * EXCLUDE (file) FROM claude_todos")).toEqual([
    { session_id: SESSION, agent_id: SESSION, todo_index: 0, content: "c", status: "pending", active_form: "doing c" },
  ]);
  expect(await ask(sql, "SELECT * EXCLUDE (file) FROM claude_history")).toEqual([
    {
      timestamp: "2025-10-10 15:37:55.23",
      project: "/p",
      session_id: null,
      display: "hello",
      pasted_contents: { 1: { id: 1 } },
      line: 1,
    },
  ]);
  expect(await ask(sql, "SELECT * FROM claude_stats ORDER BY date")).toEqual([
    { date: "2026-09-30", message_count: 4, session_count: 2, tool_call_count: 1, origin: "cache" },
    { date: "2026-10-01", message_count: 1, session_count: 1, tool_call_count: 0, origin: "computed" },
  ]);
  expect(await ask(sql, "SELECT task_id, subject, blocked_by FROM claude.tasks")).toEqual([
    { task_id: "1", subject: "s", blocked_by: ["2"] },
  ]);
  expect(await ask(sql, "SELECT session_id, project_path FROM claude.sessions")).toEqual([
    { session_id: SESSION, project_path: "/home/dev/app" },
  ]);
});

test("a data directory that does not exist is an error, and an empty data directory gives empty tables", async () => {
  const root = folder();
  const sql = await open(root);
  expect(await ask(sql, "SELECT count(*) AS n FROM claude_conversations")).toEqual([{ n: 0 }]);
  await expect((await open(join(root, "missing"))).run("SELECT 1")).rejects.toThrow("missing");
});
