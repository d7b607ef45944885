import { type Value, examples } from "@skein/sql";
import { expect, test } from "vitest";
import { ask, folder, open, write } from "./sql.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";
const MODEL = "claude-sonnet-4-5-20250929";

/** The answer to each example over the session below. */
const ANSWERS: Readonly<Record<string, readonly Record<string, Value>[]>> = {
  agents: [{ source: "claude-code", sessions: 1, calls: 4, usd: 0.02 }],
  "cost-by-month": [{ month: "2026-10-01", source: "claude-code", usd: 0.02, calls: 4 }],
  "asked-about": [
    {
      timestamp: "2026-10-01 10:00:00",
      source: "claude-code",
      project_path: "/app",
      prompt: "Please mend the test of the parser.",
    },
  ],
  "cache-efficiency": [{ project_path: "/app", percent: 66.6, calls: 4 }],
  "cost-by-week": [{ week: "2026-09-28", project_path: "/app", usd: 0.02, calls: 4 }],
  damage: [{ kind: "torn", places: 1, files: 1 }],
  "edited-files": [{ path: "/app/parser.ts", edits: 2, sessions: 1 }],
  "failing-tools": [
    { name: "Edit", calls: 2, errors: 1, percent: 50 },
    { name: "Agent", calls: 1, errors: 0, percent: 0 },
  ],
  "first-answer": [{ model: MODEL, prompts: 1, median_seconds: 5 }],
  "longest-runs": [],
  "longest-sessions": [{ title: "Please mend the test of the parser.", minutes: 30, messages: 8, session_id: SESSION }],
  "slow-tools": [
    { name: "Agent", seconds: 1770, input: '{"prompt":"Look."}', session_id: SESSION },
    { name: "Edit", seconds: 4, input: '{"file_path":"/app/parser.ts"}', session_id: SESSION },
    { name: "Edit", seconds: 3, input: '{"file_path":"/app/parser.ts"}', session_id: SESSION },
  ],
  subagents: [{ agent_type: "Explore", agents: 1, usd: 0, calls: 1 }],
  "usage-by-day": [{ day: "2026-10-01", model: MODEL, input: 3010, output: 301, cache_read: 6000, usd: 0.02 }],
};

test.each(examples())("the example $name answers: $question", async ({ name, sql: statement, question }) => {
  expect(question).toMatch(/^[A-Z].*[?)]$/);
  expect(await ask(await open(worked()), statement)).toEqual(ANSWERS[name]);
});

test("every example except the example about runs reads the sessions of all coding agents", () => {
  for (const { name, sql: statement } of examples())
    expect([name, statement]).toEqual([name, expect.stringMatching(name === "longest-runs" ? /agent\./ : /history\./)]);
});

/**
 * Writes a session of half an hour: a prompt, a failed edit, a successful edit, a subagent, and a line that is cut off.
 */
function worked(): string {
  const root = folder();
  const path = `projects/-app/${SESSION}`;
  const edit = { file_path: "/app/parser.ts" };
  write(
    root,
    `${path}.jsonl`,
    `${[
      line("user", ["u1", null, "10:00:00"], { content: "Please mend the test of the parser." }),
      answer(["a1", "u1", "10:00:05"], { type: "tool_use", id: "t1", name: "Edit", input: edit }),
      result(["u2", "a1", "10:00:08"], { tool_use_id: "t1", content: "No such text.", is_error: true }),
      answer(["a2", "u2", "10:00:10"], { type: "tool_use", id: "t2", name: "Edit", input: edit }),
      result(["u3", "a2", "10:00:14"], { tool_use_id: "t2", content: "Done." }),
      answer(["a3", "u3", "10:00:20"], { type: "tool_use", id: "t3", name: "Agent", input: { prompt: "Look." } }),
      result(["u4", "a3", "10:29:50"], { tool_use_id: "t3", content: "Nothing." }),
      line("assistant", ["a4", "u4", "10:30:00"], { id: "ma4", model: "<synthetic>", content: [] }),
    ]
      .map((each) => JSON.stringify(each))
      .join("\n")}\n{"type":"us`,
  );
  write(root, `${path}/subagents/agent-1.jsonl`, [
    { ...line("assistant", ["s1", null, "10:00:30"], said("s1", [10, 1, 0])), isSidechain: true, agentId: "1" },
  ]);
  write(root, `${path}/subagents/agent-1.meta.json`, '{"agentType":"Explore"}');
  return root;
}

type Place = readonly [uuid: string, parent: string | null, time: string];

function line(type: string, [uuid, parentUuid, time]: Place, message: object) {
  return { type, uuid, parentUuid, timestamp: `2026-10-01T${time}Z`, cwd: "/app", sessionId: SESSION, message };
}

function said(id: string, [input, output, cached]: readonly [number, number, number], ...content: readonly object[]) {
  const usage = { input_tokens: input, output_tokens: output, cache_read_input_tokens: cached };
  return { role: "assistant", id: `m${id}`, model: MODEL, content, usage };
}

function answer(place: Place, use: object) {
  return line("assistant", place, said(place[0], [1000, 100, 2000], use));
}

function result(place: Place, block: object) {
  return line("user", place, { role: "user", content: [{ type: "tool_result", ...block }] });
}
