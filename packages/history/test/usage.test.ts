import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exactCost, microsOf, priceCall } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { getUsage, isWorkspaceNotFoundError, listSessions } from "../src/index.ts";
import { writeCorpus } from "../src/sources/claude-code/testing/corpus.ts";
import { conversation, createDataDirectory, jsonLines, sessionId, type Fields } from "./data-directory.ts";

const million = 1_000_000;
const usage = (input: number, output: number, more: Fields = {}): Fields => ({
  input_tokens: input,
  output_tokens: output,
  ...more,
});

describe("counting", () => {
  test("usage counts an answer of several lines once, with the largest value of each counter", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const line = (counts: Fields): Fields => talk.answer("x", { requestId: "r", message: { id: "m", usage: counts } });
    data.session(sessionId(1), [line(usage(100, 1)), line(usage(100, 7)), line(usage(90, 500))]);
    expect((await getUsage(data.config)).totals).toMatchObject({ inputTokens: 100, outputTokens: 500, calls: 1 });
  });

  test("if several files or directories have a model call, usage counts it once, for the earliest file", async () => {
    const [one, two] = [createDataDirectory(), createDataDirectory()];
    const talk = conversation();
    const lines = [talk.user("q"), talk.answer("a")];
    one.session(sessionId(1), lines);
    one.session(sessionId(2), [...lines, conversation("2026-11-05T10:00:00.000Z").answer("more")]);
    two.session(sessionId(1), lines);
    const report = await getUsage({ dataPath: [one.root, two.root], cacheFolder: null });
    expect(report.totals.calls).toBe(2);
    expect(report.bySession.map(({ sessionId: id, calls }) => [id, calls])).toEqual([
      [sessionId(2), 1],
      [sessionId(1), 1],
    ]);
  });

  test("the usage of a session counts for the project that the list shows, even for relocated sessions and worktrees", async () => {
    const data = createDataDirectory();
    const talk = (start: string): readonly Fields[] => {
      const { user, answer } = conversation(start, { cwd: "/work/tree" });
      return [user("q"), answer("a")];
    };
    const at = (day: number): string => `2026-11-0${day}T10:00:00.000Z`;
    const worktreeSession = { originalCwd: "/work/origin", worktreePath: "/work/tree" };
    data.session(sessionId(1), [...talk(at(1)), { type: "relocated", relocatedCwd: "/work/new" }]);
    data.session(sessionId(2), [...talk(at(2)), { type: "worktree-state", worktreeSession }]);
    data.session(sessionId(3), [
      ...talk(at(3)),
      { type: "worktree-state", worktreeSession },
      { type: "worktree-state", worktreeSession: null },
    ]);
    data.session(sessionId(4), [conversation(at(4), { cwd: "/work/first" }).user("q"), ...talk(at(4))]);
    const { data: listed } = await listSessions(data.config);
    const expected = Object.fromEntries(listed.map(({ id, projectPath }) => [id, projectPath]));
    expect(Object.values(expected).toSorted()).toEqual(["/work/first", "/work/new", "/work/origin", "/work/tree"]);
    for (const config of [data.config, data.indexed, data.indexed]) {
      const { bySession, byProject } = await getUsage(config);
      expect(Object.fromEntries(bySession.map((usage) => [usage.sessionId, usage.projectPath]))).toEqual(expected);
      expect(byProject.map(({ projectPath }) => projectPath).toSorted()).toEqual(Object.values(expected).toSorted());
    }
    expect((await getUsage({ ...data.config, workspace: "/work/new" })).totals.calls).toBe(1);
  });

  test.each<[string, readonly Fields[], number]>([
    ["two request ids of one message id are two calls", [{ requestId: "r1" }, { requestId: "r2" }], 2],
    [
      "a call without a request id is counted by its message id",
      [{ requestId: undefined }, { requestId: undefined }],
      1,
    ],
    [
      "a copy in a side chain with another request id is the same call",
      [{ requestId: "r1" }, { requestId: "r2", isSidechain: true }],
      1,
    ],
  ])("%s", async (_, extras, expected) => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(
      sessionId(1),
      extras.map((extra) => talk.answer("x", { message: { id: "m" }, ...extra })),
    );
    expect((await getUsage(data.config)).totals.calls).toBe(expected);
  });

  test("usage includes subagents and progress lines, but not the results that repeat their tokens", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const inline = {
      type: "assistant",
      message: { id: "m-inline", model: "claude-opus-5", usage: usage(3, 3) },
      requestId: "ri",
    };
    data.session(sessionId(1), [
      talk.answer("main"),
      talk.user([{ type: "tool_result", tool_use_id: "t", content: "x" }], {
        toolUseResult: { agentId: "a1", usage: usage(999, 999) },
      }),
      talk.line("progress", { data: { type: "agent_progress", agentId: "a9", message: inline } }),
      talk.answer([
        { type: "tool_use", id: "t", name: "X", input: { usage: { input_tokens: 5 }, id: "no", model: "no" } },
      ]),
    ]);
    const side = conversation("2026-11-01T11:00:00.000Z", { isSidechain: true, sessionId: sessionId(1) });
    data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-a1.jsonl`, jsonLines([side.answer("sub")]));
    data.write(`projects/-work-app/agent-b1.jsonl`, jsonLines([side.answer("legacy")]));
    data.write(
      `projects/-work-app/${sessionId(1)}/subagents/workflows/wf_1/agent-c1.jsonl`,
      jsonLines([side.answer("flow")]),
    );
    const report = await getUsage(data.config);
    expect(report.totals).toMatchObject({ calls: 6, inputTokens: 53, outputTokens: 103 });
    expect(report.bySession.length).toBe(1);
  });

  test("synthetic answers do not count, and calls of a model without a price are reported as unpriced", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    data.session(sessionId(1), [
      talk.answer("x", { message: { id: "m0", model: "<synthetic>", usage: usage(0, 0) } }),
      talk.answer("x", { message: { id: "m1", model: "claude-opus-5", usage: usage(million, 0) } }),
      talk.answer("x", { message: { id: "m2", model: "deepseek-v9", usage: usage(million, 5) } }),
    ]);
    const report = await getUsage(data.config);
    expect(report.totals).toMatchObject({ calls: 2, costUsd: 5, unpricedCalls: 1, inputTokens: 2 * million });
    expect(report.unpricedModels).toEqual(["deepseek-v9"]);
    expect(report.byModel.find(({ model }) => model === "deepseek-v9")).toMatchObject({ isPriced: false, costUsd: 0 });
  });

  test("one-hour cache writes, fast mode and searches have special prices", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const split = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: million };
    data.session(sessionId(1), [
      talk.answer("x", {
        message: { id: "m1", usage: usage(0, 0, { cache_creation_input_tokens: million, cache_creation: split }) },
      }),
      talk.answer("x", { message: { id: "m2", usage: usage(million, 0, { speed: "fast" }) } }),
      talk.user([{ type: "tool_result", tool_use_id: "t", content: "x" }], {
        toolUseResult: { query: "q", searchCount: 3 },
      }),
    ]);
    const report = await getUsage(data.config);
    expect(report.totals).toMatchObject({
      costUsd: 10 + 10 + 0.03,
      cacheCreation1hInputTokens: million,
      webSearchRequests: 3,
    });
  });

  test("a model call has the price of its model on the day of the call", async () => {
    const data = createDataDirectory();
    const call = (id: string, timestamp: string): Fields =>
      conversation().answer("x", {
        timestamp,
        requestId: id,
        message: { id, model: "gpt-5.6-sol", usage: usage(100_000, 0) },
      });
    data.session(sessionId(1), [call("a", "2026-08-20T12:00:00.000Z"), call("b", "2026-08-21T12:00:00.000Z")]);
    const { byDay } = await getUsage({ ...data.config, timeZone: "UTC" });
    expect(byDay.map(({ costUsd }) => costUsd)).toEqual([0.5, 0.4]);
  });

  test("usage ignores counters in the input of a tool, even if the answer has no counters", async () => {
    const data = createDataDirectory();
    const input = { usage: { input_tokens: 5, output_tokens: 5 } };
    const message = { usage: undefined };
    data.session(sessionId(1), [conversation().answer([{ type: "tool_use", id: "t", name: "X", input }], { message })]);
    expect((await getUsage(data.config)).totals.calls).toBe(0);
  });

  test("if the file of a session is empty, its subagents belong to the project in their lines", async () => {
    const data = createDataDirectory();
    data.write(`projects/-work-app/${sessionId(1)}.jsonl`, "");
    const side = conversation(undefined, { sessionId: sessionId(1), isSidechain: true });
    data.write("projects/-work-app/agent-a1.jsonl", jsonLines([side.answer("old layout")]));
    data.write(`projects/-work-app/${sessionId(1)}/subagents/agent-a2.jsonl`, jsonLines([side.answer("new layout")]));
    const { byProject, bySession } = await getUsage(data.config);
    expect(byProject).toMatchObject([{ projectPath: "/work/app", calls: 2 }]);
    expect(bySession).toMatchObject([{ sessionId: sessionId(1), projectPath: "/work/app", calls: 2 }]);
  });

  test("the report of a session has the total cost that Claude Code recorded last", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [
      conversation().answer("x"),
      { type: "cost-state", totalCostUSD: 1.5 },
      { type: "cost-state", totalCostUSD: 2.5 },
    ]);
    expect((await getUsage(data.config)).bySession[0]?.costStateUsd).toBe(2.5);
  });

  test("several records in one line count, and an incomplete last line does not count", async () => {
    const data = createDataDirectory();
    const talk = conversation();
    const [one, two, three] = [talk.answer("1"), talk.answer("2"), talk.answer("3")];
    data.write(
      `projects/-work-app/${sessionId(1)}.jsonl`,
      `${JSON.stringify(one)}${JSON.stringify(two)}\n${JSON.stringify(three).slice(0, -5)}`,
    );
    expect((await getUsage(data.config)).totals.calls).toBe(2);
  });
});

describe("broken lines", () => {
  const talk = conversation();
  const [one, two, three] = [talk.answer("1"), talk.answer("2"), talk.answer("3")].map((line) => JSON.stringify(line));
  const searched = JSON.stringify(talk.user("results", { toolUseResult: { searchCount: 3 } }));
  const state = JSON.stringify({ type: "cost-state", sessionId: sessionId(1), totalCostUSD: 7 });
  const moved = JSON.stringify({ type: "relocated", sessionId: sessionId(1), relocatedCwd: "/work/moved" });
  // This is an answer without its end, so its usage is missing.
  const piece = one?.slice(0, one.indexOf('"content"'));

  test.each([
    ["two records in the only line", [`${one}${two}`], [one, two]],
    [
      "a count of searches and a total cost, each after an answer in the same line",
      [`${one}${searched}`, `${two}${state}`],
      [one, searched, two, state],
    ],
    ["a new project after an answer, in the same line", [one, `${two}${moved}`], [one, two, moved]],
    ["an answer after an incomplete answer in one line", [one, `${piece}${three}`], [one, three]],
    ["an answer after NUL bytes in place of data that was never written", [`\0\0${one}`], [one]],
  ])("a broken line counts as its records would in separate lines: %s", async (_, damaged, mended) => {
    const report = async (lines: readonly (string | undefined)[]): Promise<object> => {
      const data = createDataDirectory();
      data.write(`projects/-work-app/${sessionId(1)}.jsonl`, `${lines.join("\n")}\n`);
      const { totals, byModel, byProject, bySession } = await getUsage(data.config);
      return { totals, byModel, byProject, bySession };
    };
    expect(await report(damaged)).toEqual(await report(mended));
  });
});

describe("grouping", () => {
  test("days depend on the time zone, and every grouping adds up to the totals", async () => {
    const data = createDataDirectory();
    writeCorpus({ folder: data.root, files: 12, bytes: 1_500_000, seed: 3 });
    const report = await getUsage({ ...data.config, timeZone: "Pacific/Auckland" });
    const groups = [
      report.byDay,
      report.byWeek,
      report.byMonth,
      report.byModel,
      report.byProject,
      report.bySession,
      report.blocks,
    ];
    for (const field of ["inputTokens", "outputTokens", "cacheReadInputTokens", "calls", "costUsd"] as const) {
      for (const group of groups) {
        expect(
          group.reduce((sum, entry) => sum + entry[field], 0),
          field,
        ).toBeCloseTo(report.totals[field], 9);
      }
    }
    const talk = conversation("2026-11-01T23:30:00.000Z");
    const zone = createDataDirectory();
    zone.session(sessionId(1), [talk.answer("x")]);
    expect((await getUsage({ ...zone.config, timeZone: "UTC" })).byDay[0]?.date).toBe("2026-11-01");
    expect((await getUsage({ ...zone.config, timeZone: "Asia/Kathmandu" })).byDay[0]?.date).toBe("2026-11-02");
  });

  test("weeks begin on Monday, and months depend on the time zone", async () => {
    const data = createDataDirectory();
    const times = ["2026-10-31T22:30", "2026-11-01T23:30", "2026-11-02T10:00", "2026-11-08T10:00", "2027-01-01T10:00"];
    data.session(
      sessionId(1),
      times.map((time) => conversation(`${time}:00.000Z`).answer("x")),
    );
    for (const [timeZone, weeks, months] of [
      ["UTC", ["2026-10-26 2", "2026-11-02 2", "2026-12-28 1"], ["2026-10 1", "2026-11 3", "2027-01 1"]],
      ["Europe/Berlin", ["2026-10-26 1", "2026-11-02 3", "2026-12-28 1"], ["2026-10 1", "2026-11 3", "2027-01 1"]],
      ["Asia/Tokyo", ["2026-10-26 1", "2026-11-02 3", "2026-12-28 1"], ["2026-11 4", "2027-01 1"]],
    ] as const) {
      const { byWeek, byMonth } = await getUsage({ ...data.config, timeZone });
      expect(byWeek.map(({ week, calls }) => `${week} ${calls}`)).toEqual(weeks);
      expect(byMonth.map(({ month, calls }) => `${month} ${calls}`)).toEqual(months);
    }
  });

  test("five-hour blocks start at the full hour, are split by gaps, and are marked as an estimate", async () => {
    const data = createDataDirectory();
    const at = (time: string): Fields => conversation(time).answer("x");
    data.session(sessionId(1), [
      at("2026-11-01T10:20:00.000Z"),
      at("2026-11-01T14:59:00.000Z"),
      at("2026-11-01T15:30:00.000Z"),
      at("2026-11-02T09:00:00.000Z"),
    ]);
    const { blocks } = await getUsage(data.config);
    expect(blocks.map(({ startsAt, isGap, calls }) => [startsAt.toISOString().slice(5, 16), isGap, calls])).toEqual([
      ["11-01T10:00", false, 2],
      ["11-01T15:00", false, 1],
      ["11-01T20:30", true, 0],
      ["11-02T09:00", false, 1],
    ]);
    expect(blocks.every(({ isEstimate }) => isEstimate)).toBe(true);
  });

  test("a model call exactly five hours after the start of a block belongs to the block, in any order of calls", async () => {
    const data = createDataDirectory();
    const at = (time: string): Fields => conversation(time).answer("x");
    data.session(sessionId(1), [at("2026-11-01T15:00:00.000Z"), at("2026-11-01T10:20:00.000Z")]);
    data.session(sessionId(2), [at("2026-11-01T15:00:00.001Z"), at("2026-11-01T14:59:59.999Z")]);
    const { blocks } = await getUsage(data.config);
    expect(blocks.map(({ startsAt, lastActivityAt, calls }) => [startsAt, lastActivityAt, calls])).toEqual([
      [new Date("2026-11-01T10:00:00.000Z"), new Date("2026-11-01T15:00:00.000Z"), 3],
      [new Date("2026-11-01T15:00:00.000Z"), new Date("2026-11-01T15:00:00.001Z"), 1],
    ]);
  });

  test("days, weeks and months are split by model, and the parts add up to the total", async () => {
    const data = createDataDirectory();
    const answer = (id: string, model: string): Fields =>
      conversation("2026-11-01T10:00:00.000Z").answer("x", { message: { id, model } });
    data.session(sessionId(1), [
      answer("a", "claude-haiku-4-5"),
      answer("b", "claude-opus-4-5"),
      answer("c", "claude-opus-4-5"),
    ]);
    for (const config of [data.config, data.indexed, data.indexed]) {
      const { byDay, byWeek, byMonth } = await getUsage(config);
      for (const [row] of [byDay, byWeek, byMonth]) {
        expect(row?.models.map(({ model, calls }) => [model, calls])).toEqual([
          ["claude-opus-4-5", 2],
          ["claude-haiku-4-5", 1],
        ]);
        expect(row?.models.reduce((sum, { costMicros }) => sum + costMicros, 0)).toBe(row?.costMicros);
      }
    }
  });

  test("the active block has a burn rate and a projection, even if the report comes from the index", async () => {
    const data = createDataDirectory();
    const usage = { input_tokens: 600_000, output_tokens: 0 };
    const at = (time: string): Fields =>
      conversation(time).answer("x", { message: { model: "claude-opus-4-5", usage } });
    data.session(sessionId(1), [at("2026-11-01T10:20:00.000Z"), at("2026-11-01T11:20:00.000Z")]);
    for (const config of [data.config, data.indexed, data.indexed]) {
      const { activeBlock } = await getUsage({ ...config, now: new Date("2026-11-01T12:00:00.000Z") });
      expect(activeBlock).toMatchObject({
        remainingMinutes: 180,
        burnRate: { tokensPerMinute: 20_000, costUsdPerHour: 6 },
        projection: { totalTokens: 4_800_000, costUsd: 24 },
      });
      expect((await getUsage({ ...config, now: new Date("2026-11-01T15:00:00.000Z") })).activeBlock).toBeNull();
    }
  });

  test("usage is filtered by time and workspace", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [
      conversation("2026-11-01T10:00:00.000Z").answer("x"),
      conversation("2026-11-03T10:00:00.000Z").answer("y"),
    ]);
    const since = new Date("2026-11-02T00:00:00.000Z");
    expect((await getUsage({ ...data.config, since })).totals.calls).toBe(1);
    expect((await getUsage({ ...data.config, until: since, workspace: "/work/app" })).totals.calls).toBe(1);
    await expect(getUsage({ ...data.config, workspace: "/nowhere" })).rejects.toSatisfy(isWorkspaceNotFoundError);
  });

  test("a project without a call in the chosen time has no usage, but it is not unknown", async () => {
    const data = createDataDirectory();
    data.session(sessionId(1), [conversation("2026-11-01T10:00:00.000Z").answer("x")]);
    data.session(
      sessionId(2),
      [conversation("2026-11-01T10:00:00.000Z", { cwd: "/work/new" }).user("hello")],
      "-work-new",
    );
    const since = new Date("2026-11-02T00:00:00.000Z");
    for (const chosen of [{ workspace: "/work/app", since }, { workspace: "/work/new" }])
      expect((await getUsage({ ...data.config, ...chosen })).totals.calls).toBe(0);
  });
});

/** Counts in the simplest way: parses everything, keeps the largest counters, and adds them up. */
function plainCount(root: string): { tokens: number; costMicros: number; calls: number } {
  const calls = new Map<string, Record<string, number> & { model?: never }>();
  const models = new Map<string, string>();
  for (const name of readdirSync(join(root, "projects"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".jsonl")) continue;
    for (const text of readFileSync(join(root, "projects", name), "utf8").split("\n")) {
      if (text === "") continue;
      const line = JSON.parse(text) as {
        type: string;
        requestId: string;
        message?: { id: string; model: string; usage?: Record<string, number> };
      };
      if (line.type !== "assistant" || !line.message?.usage) continue;
      const { cache_creation: split, ...counts } = line.message.usage as unknown as Record<string, number> & {
        cache_creation: Record<string, number>;
      };
      const key = `${line.message.id} ${line.requestId}`;
      const known = calls.get(key) ?? {};
      for (const [name_, value] of Object.entries({ ...counts, ...split })) {
        if (typeof value === "number") known[name_] = Math.max(known[name_] ?? 0, value);
      }
      calls.set(key, known);
      models.set(key, line.message.model);
    }
  }
  let tokens = 0;
  let picos = 0n;
  for (const [key, counts] of calls) {
    const {
      input_tokens = 0,
      output_tokens = 0,
      cache_creation_input_tokens = 0,
      cache_read_input_tokens = 0,
    } = counts;
    tokens += input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens;
    const cache_creation = {
      ephemeral_5m_input_tokens: counts["ephemeral_5m_input_tokens"] ?? 0,
      ephemeral_1h_input_tokens: counts["ephemeral_1h_input_tokens"] ?? 0,
    };
    const cost = priceCall(models.get(key) ?? "", {
      input_tokens,
      output_tokens,
      cache_creation_input_tokens,
      cache_read_input_tokens,
      cache_creation,
    });
    picos += cost ? exactCost(cost).total : 0n;
  }
  return { tokens, costMicros: microsOf(picos), calls: calls.size };
}

test("usage gives the tokens and micro-dollars of a second, independent count", async () => {
  const data = createDataDirectory();
  writeCorpus({ folder: data.root, files: 30, bytes: 6_000_000, seed: 11 });
  const { totals } = await getUsage(data.config);
  const { inputTokens, outputTokens, cacheCreationInputTokens, cacheReadInputTokens } = totals;
  const tokens = inputTokens + outputTokens + cacheCreationInputTokens + cacheReadInputTokens;
  expect({ tokens, costMicros: totals.costMicros, calls: totals.calls }).toEqual(plainCount(data.root));
});

test("usage is equal with and without an index, when it is read once, twice and after new lines", async () => {
  const data = createDataDirectory();
  const { sessions } = writeCorpus({ folder: data.root, files: 10, bytes: 1_000_000, seed: 5 });
  const [name] = readdirSync(data.path("projects"), { recursive: true, encoding: "utf8" }).filter((found) =>
    found.endsWith(`${sessions[0]}.jsonl`),
  );
  for (let round = 0; round < 3; round += 1) {
    const plain = await getUsage(data.config);
    expect(await getUsage(data.indexed)).toEqual(plain);
    expect(await getUsage(data.indexed)).toEqual(plain);
    data.append(
      join("projects", name ?? ""),
      jsonLines([conversation(`2026-12-0${round + 1}T10:00:00.000Z`).answer("new")]),
    );
  }
});

test("a report from the index has its keys in the same order as a new one", async () => {
  const data = createDataDirectory();
  writeCorpus({ folder: data.root, files: 3, bytes: 100_000, seed: 7 });
  const now = new Date("2026-12-01T00:00:00.000Z");
  const fresh = JSON.stringify(await getUsage({ ...data.indexed, now }));
  expect(JSON.stringify(await getUsage({ ...data.indexed, now }))).toBe(fresh);
});
