import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { HistoryMessage } from "../src/api/api.ts";
import { continueCommand } from "../src/history/continue-command.ts";
import { viewOfMessages } from "../src/history/history-view.ts";
import { historySums } from "../src/history/history-sums.ts";
import { rowsOf } from "../src/session/transcript-rows.ts";
import { rowOfHistory, shortPath } from "../src/sessions/listed-row.ts";
import { mergedPages } from "../src/sessions/merged-pages.ts";
import type { Pages } from "../src/sessions/pages.ts";

function message(offset: number, more: Partial<HistoryMessage>): HistoryMessage {
  return {
    id: `m${offset}`,
    parent_id: null,
    message_id: null,
    type: more.role ?? "system",
    subtype: null,
    role: null,
    prompt: null,
    content: [],
    is_cut: false,
    created_at: new Date(Date.UTC(2026, 10, 1) + offset).toISOString(),
    model: null,
    stop_reason: null,
    usage: null,
    is_sidechain: false,
    is_rewound: false,
    is_compacted: false,
    agent_id: null,
    offset,
    bytes: 10,
    ...more,
  };
}

const prompt = (offset: number, text: string, more: Partial<HistoryMessage> = {}): HistoryMessage =>
  message(offset, { role: "user", prompt: text, content: [{ type: "text", text }], ...more });

describe("cost and tokens of a transcript count the same model calls", () => {
  const counts = { input_tokens: 9, output_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const usage = { ...counts, calls: 3, unpriced_calls: 0, models: ["claude-sonnet-5-5"] };
  const details = { cost_micros: 70, usage, subagents: ["a1", "b2"] };
  const shown = viewOfMessages(
    [message(1, { role: "assistant", message_id: "m", model: "a-model-without-a-price", usage: counts })],
    { withRewound: false, agent: "Codex" },
  );
  const whole = { agentId: null, isPartial: true };

  test("a session shows the server's cost and tokens, which include those of its subagents", () => {
    expect(historySums(details, shown, whole)).toEqual({
      cost: { cost_micros: 70, unpriced_calls: 0 },
      totals: usage,
      scope: "with 2 subagents",
    });
  });

  test("for a subagent or a session without sums of the server, the page adds up the usage of the shown messages", () => {
    const ofMessages = { cost: { cost_micros: 0, unpriced_calls: 1 }, totals: shown.totals };
    expect(shown.totals).toMatchObject(counts);
    expect(historySums(details, shown, { agentId: "a1", isPartial: false })).toEqual({
      ...ofMessages,
      scope: "of this subagent",
    });
    expect(historySums({ ...details, cost_micros: null, usage: null }, shown, whole)).toEqual({
      ...ofMessages,
      scope: "of the messages shown",
    });
  });
});

describe("a session of a coding agent is a row of the list", () => {
  const session = {
    id: "one",
    source: "grok",
    title: "Hi",
    project_path: "/srv/demo",
    git_branch: null,
    version: "1",
    created_at: "2026-11-01T09:00:00.000Z",
    last_activity_at: "2026-11-01T10:00:00.000Z",
    message_count: 2,
    subagents: [],
    size_bytes: 10,
    cost_micros: 0,
  };
  const counts = { input_tokens: 9, output_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

  test('the cost column shows "no price" if no model call has a price, $0 if there are no calls, and nothing until the calls are counted', () => {
    const models = ["claude-haiku-4-5-20251001", "grok-x"];
    const row = (calls: number, unpriced_calls: number) =>
      rowOfHistory({ ...session, usage: { ...counts, calls, unpriced_calls, models } });
    const priced = rowOfHistory({
      ...session,
      cost_micros: 20_000,
      usage: { ...counts, calls: 2, unpriced_calls: 1, models },
    });
    expect([row(2, 2).cost, priced.cost, row(0, 0).cost]).toEqual(["no price", "$0.020", "$0"]);
    expect(row(2, 2).model).toBe("haiku-4-5, grok-x");
    expect(rowOfHistory({ ...session, cost_micros: null, usage: null })).toMatchObject({ cost: "", model: "" });
  });

  test("a list shows the last two folders of a path", () => {
    expect(["/srv/demo", "/srv", "/home/ada/infra/", ""].map(shortPath)).toEqual([
      "/srv/demo",
      "/srv",
      "ada/infra",
      "",
    ]);
  });
});

describe("a transcript is converted to messages, steps and calls", () => {
  const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const answer = (offset: number, content: HistoryMessage["content"]): HistoryMessage =>
    message(offset, { role: "assistant", message_id: "msg_1", model: "claude-sonnet-5-5", content, usage });
  const call = {
    type: "tool_use",
    id: "t1",
    name: "Edit",
    input: { file_path: "a", old_string: "x", new_string: "y" },
  };

  const shown = { withRewound: false, agent: "Codex" };

  test("an answer whose lines are on two pages is one step and is counted once", () => {
    const view = viewOfMessages(
      [prompt(1, "Hi"), answer(2, [{ type: "text", text: "One" }]), answer(3, [call])],
      shown,
    );
    expect(view.items.map(({ kind }) => kind)).toEqual(["prompt", "step"]);
    expect(view.steps[0]?.content).toHaveLength(2);
    expect(view.totals.input_tokens).toBe(10);
  });

  test("the result of a tool call completes the call and adds its file to the changed files", () => {
    const result = { type: "tool_result", tool_use_id: "t1", content: "done" };
    const view = viewOfMessages([answer(2, [call]), message(3, { role: "user", content: [result] })], shown);
    expect(view.calls.get("t1")).toMatchObject({ state: "done", result: "done", endedSequence: 3 });
    expect([...view.files.keys()]).toEqual(["a"]);
    expect(view.items).toHaveLength(1);
  });

  test("rewound messages are folded into one line until they are requested, and a text that the agent added is shown as a note", () => {
    const messages = [
      prompt(1, "First", { is_rewound: true }),
      prompt(2, "Second", { is_rewound: true }),
      prompt(3, "Third"),
      message(4, { role: "user", content: [{ type: "text", text: "<system-reminder>" }] }),
      message(5, { type: "system", subtype: "compact_boundary" }),
      message(6, { type: "a-type-of-a-newer-version" }),
    ];
    const texts = (withRewound: boolean) =>
      viewOfMessages(messages, { ...shown, withRewound }).items.map((item) =>
        item.kind === "mark" ? item.text : item.kind,
      );
    expect(texts(false)).toEqual([
      "2 messages were rewound here",
      "prompt",
      "Codex added a text for the model",
      "Compacted: the model no longer saw the messages above",
    ]);
    expect(texts(true).filter((one) => one === "prompt")).toHaveLength(3);
  });
});

test("a transcript names each day above the first message of the day, but a transcript that begins today does not name today", () => {
  vi.useFakeTimers({ now: new Date(2026, 10, 19, 12), toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const daysOf = (...times: readonly Date[]) => {
    const messages = times.map((time, at) => prompt(at + 1, "Go on", { created_at: time.toISOString() }));
    const { items } = viewOfMessages(messages, { withRewound: false, agent: "Codex" });
    return rowsOf(items, undefined, new Set()).map(({ day }) => day);
  };
  const [morning, evening] = [new Date(2026, 7, 20, 0, 0), new Date(2026, 7, 20, 23, 59, 59)];
  const yesterday = new Date(2026, 10, 18, 9);
  const [today, later] = [new Date(2026, 10, 19, 0, 1), new Date(2026, 10, 19, 11)];
  expect(daysOf(new Date(2025, 9, 2, 7), morning, evening, yesterday, today, later)).toEqual([
    "2 Oct 2025",
    "Thursday 20 August",
    null,
    "Yesterday",
    "Today",
    null,
  ]);
  expect(daysOf(today, later)).toEqual([null, null]);
});

test.each([
  ["/home/ada/shop", "cd /home/ada/shop && claude --resume x"],
  ["/home/ada/my shop", "cd -- '/home/ada/my shop' && claude --resume x"],
  ["/tmp/'; rm -rf ~; '", String.raw`cd -- '/tmp/'\''; rm -rf ~; '\''' && claude --resume x`],
  ["-rf", "cd -- '-rf' && claude --resume x"],
  ["", "claude --resume x"],
])("the command that continues a session in %s is safe to paste", (directory, expected) => {
  expect(continueCommand({ directory, command: "claude --resume x" })).toBe(expected);
});

describe("two sorted lists shown as one", () => {
  const pages = (times: readonly number[], loaded = times.length): Pages<number> & { readonly wanted: number[] } => {
    const wanted: number[] = [];
    return {
      total: times.length,
      rowAt: (index) => (index < loaded ? times[index] : undefined),
      want: (index) => void wanted.push(index),
      isLoading: false,
      error: null,
      version: 0,
      wanted,
    };
  };
  const source = (list: Pages<number>) => ({ pages: list, keyOf: (time: number) => time });
  const latestFirst = (key: string | number, than: string | number): boolean => key >= than;

  test("rows of two lists are shown in one order, as far as both lists are loaded", () => {
    const [one, other] = [pages([9, 5, 1], 2), pages([8, 7, 6])];
    const merged = mergedPages(source(one), source(other), latestFirst);
    expect(merged.total).toBe(6);
    expect(Array.from({ length: 6 }, (_, at) => merged.rowAt(at)?.item)).toEqual([9, 8, 7, 6, 5, undefined]);
    merged.want(5);
    expect([one.wanted, other.wanted]).toEqual([[2], []]);
  });

  test("two loaded lists are merged into one sorted list, however they overlap", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const times = (step: number, count: number): readonly number[] =>
        Array.from({ length: count }, (_, at) => (at * step * 7 + seed * 13) % 101).sort((a, b) => b - a);
      const [one, other] = [times(3, seed), times(5, 41 - seed)];
      const merged = mergedPages(source(pages(one)), source(pages(other)), latestFirst);
      const shown = Array.from({ length: one.length + other.length }, (_, at) => merged.rowAt(at)?.item);
      expect(shown).toEqual([...one, ...other].sort((a, b) => b - a));
    }
  });

  test("a jump into the middle of two lists requests at most three pages", () => {
    const all = Array.from({ length: 100_000 }, (_, at) => 100_000 - at);
    const there = new Set<number>([0]);
    const asked: number[] = [];
    const one: Pages<number> = {
      ...pages(all),
      rowAt: (index) => (there.has(Math.floor(index / 200)) ? all[index] : undefined),
      want: (index) => void asked.push(Math.floor(index / 200)),
    };
    const other = pages(Array.from({ length: 300 }, (_, at) => 100_000.5 - at * 300));
    const merged = () => mergedPages(source(one), source(other), latestFirst);
    for (let tries = 0; tries < 6 && merged().rowAt(50_000) === undefined; tries++) {
      merged().want(50_000);
      there.add(asked.at(-1) ?? 0);
    }
    // 167 sessions of the second list come before this row.
    expect(merged().rowAt(50_000)?.item).toBe(all[50_000 - 167]);
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  test("with a single list, only the page of the visible row is requested", () => {
    const one = pages([3, 2, 1], 1);
    mergedPages(source(one), source(pages([])), latestFirst).want(2);
    expect(one.wanted).toEqual([2]);
  });
});
