import { expect, test } from "vitest";
import { readStatement } from "../src/plan/statement.ts";
import { type Explanation, planStatement } from "../src/plan/statement-plan.ts";
import { ask, folder, open, write } from "./sql.ts";

const explained = (text: string): Explanation => ({ kind: "explained", json: JSON.stringify([{ name: text }]) });

test.each([
  ["a statement over the copy", { kind: "unneeded" }, 1, false, "uncounted"],
  ["a statement that reads neither line numbers nor damage", explained("READ_NDJSON"), 1, false, "uncounted"],
  ["a statement that reads line numbers", explained("skein_line"), 1, false, "numbered"],
  ["a statement that joins the number of a file's first row", explained("first_row"), 1, false, "numbered"],
  ["a statement that reads damage", explained("scan.damage"), 1, false, "counted"],
  ["a statement that DuckDB does not explain", { kind: "unavailable" }, 1, false, "numbered"],
  ["a PIVOT, of which the first part is not repeated", { kind: "unneeded" }, 2, false, "counted"],
  ["a statement whose caller cannot ask again", { kind: "unneeded" }, 1, true, "counted"],
] as const)("the plan of %s", (_, explanation, parts, counted, rows) => {
  const plan = planStatement(readStatement("SELECT 1"), { explanation, parts, counted });
  expect(plan.form.rows).toBe(rows);
});

test.each([
  ["SELECT 1", []],
  ["FROM platform.events", ["platform"]],
  ["FROM all_usage", ["platform"]],
  ["FROM claude_plans, claude.tasks", ["main.claude_plans", "claude.tasks"]],
  ["FROM claude.agents", ["skein.agent_metas"]],
  ["FROM read_plans('/a')", ["read_plans"]],
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
  expect(loads.filter((load) => !sql.includes("read_") || load === "read_plans")).toEqual(expected);
});

test.each([
  ["SELECT 1", { kind: "unneeded" }, true],
  ["SELECT 1", explained("READ_NDJSON"), false],
  ["FROM claude_plans", { kind: "unneeded" }, false],
  ["FROM claude.branches", { kind: "unneeded" }, false],
] as const)("a prepared %s with %j is used again: %s", (sql, explanation, expected) => {
  expect(planStatement(readStatement(sql), { explanation, parts: 1, counted: false }).isReusable).toBe(expected);
});

test("the first question has both branches and line numbers", async () => {
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
