import { expect, test } from "vitest";
import { readStatement } from "../src/plan/statement.ts";
import { type Explanation, planStatement } from "../src/plan/statement-plan.ts";
import { ask, folder, open, write } from "./sql.ts";

const explained = (text: string): Explanation => ({ kind: "explained", json: JSON.stringify([{ name: text }]) });

const KNOWN = { explanation: { kind: "unneeded" }, parts: 1, counted: false } as const;

test.each([
  ["a statement over the copy", "uncounted", KNOWN],
  ["a statement that reads neither line numbers nor damage", "uncounted", { explanation: explained("READ_NDJSON") }],
  ["a statement that reads line numbers", "numbered", { explanation: explained("skein_line") }],
  ["a statement that reads where a file's rows begin", "numbered", { explanation: explained("first_row") }],
  ["a statement that reads damage", "counted", { explanation: explained("scan.damage") }],
  ["a statement that DuckDB does not explain", "numbered", { explanation: { kind: "unavailable" } }],
  ["a PIVOT, whose first part is not repeated", "counted", { parts: 2 }],
  ["a statement whose caller cannot run it again", "counted", { counted: true }],
] as const)("%s runs over rows that are %s", (_, rows, known) => {
  expect(planStatement(readStatement("SELECT 1"), { ...KNOWN, ...known }).form.rows).toBe(rows);
});

test.each([
  ["SELECT 1", []],
  ["FROM platform.events", ["platform"]],
  ["FROM all_usage", ["platform"]],
  ["FROM claude_plans, claude.tasks", ["main.claude_plans", "claude.tasks"]],
  ["FROM claude.agents", ["skein.agent_metas"]],
  ["FROM read_plans('/a')", ["read_plans"]],
  ["FROM read_plans('/a'), claude_todos", ["read_plans", "main.claude_todos"]],
])("%s loads %j", (sql, expected) => {
  const loads = readStatement(sql).loads.map((load) => {
    switch (load.kind) {
      case "platform":
        return load.kind;
      case "small-table":
        return load.table;
      case "read-function":
        return load.call.name;
    }
  });
  expect(loads).toEqual(expected);
});

test.each([
  ["SELECT 1", { kind: "unneeded" }, true],
  ["SELECT 1", explained("READ_NDJSON"), false],
  ["FROM claude_plans", { kind: "unneeded" }, false],
  ["FROM claude.branches", { kind: "unneeded" }, false],
] as const)("the prepared '%s' with the explanation %j may be used again: %s", (sql, explanation, expected) => {
  expect(planStatement(readStatement(sql), { ...KNOWN, explanation }).isReusable).toBe(expected);
});

test("the first query can use branches and line numbers together", async () => {
  const root = folder();
  const line = (uuid: string, parentUuid: string | null, content: string): object => ({
    type: "user",
    uuid,
    parentUuid,
    timestamp: `2026-10-01T10:00:0${uuid.slice(1)}.000Z`,
    message: { role: "user", content },
  });
  write(root, "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a10.jsonl", [
    line("u1", null, "start"),
    line("u2", "u1", "one way"),
    line("u3", "u1", "another way"),
  ]);
  const question = "SELECT b.at_uuid, m.line FROM claude.branches b JOIN claude.messages m ON m.uuid = b.at_uuid";
  expect(await ask(await open(root), question)).toEqual([{ at_uuid: "u1", line: 1 }]);
});
