import { describe, expect, test } from "vitest";
import {
  ACTION_TYPES,
  type ActionRow,
  type ActionType,
  DIALECTS,
  actionData,
  actionLogs,
} from "../../src/dialects/fact-table.ts";
import { FACTS, type FactData, type FactType } from "../../src/event.ts";

const id = "01890000-0000-7000-8000-00000000000a";
const inStep = { run_id: id, step: 1 };
const totals = { cost_micros: 0, unpriced_calls: 0, files_generated: 1, duration_ms: 150_500 };
const usage = { input_tokens: 1500, output_tokens: 800, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const content = [
  { type: "text", text: "I'll create that chart..." },
  { type: "tool_use", id: "toolu_123", name: "bash_code_execution", input: {} },
];
const result = [{ type: "text", text: "done" }];

/** Returns the actions of a fact with this data. */
function actionsOf<Type extends FactType>(type: Type, data: FactData<Type>): [ActionType, unknown][] {
  const parsed = FACTS[type].parse(data) as Record<string, unknown>;
  const has = ([key, value]: NonNullable<ActionRow["when"]>): boolean => parsed[key] === value;
  const applies = ({ when, unless }: ActionRow): boolean => (!when || has(when)) && (!unless || !has(unless));
  return DIALECTS[type].actions.filter(applies).map((row) => [row.action, actionData(row, parsed)]);
}

describe("each fact of the specification's example run gives the specified row of agent_runs", () => {
  test("session.started gives the row run_started as in the specification's example", () => {
    const data = { run_id: id, message_id: id, user_message: "Create a chart showing sales data", formatter: "xml" };
    expect(actionsOf("session.started", data)).toEqual([
      ["run_started", { user_message: "Create a chart showing sales data", queue_present: true, formatter: "xml" }],
    ]);
  });

  test("memory.retrieved gives the row memory_retrieval as in the specification's example", () => {
    const found = { memories_found: 3, memories_injected: 2, memory_store_type: "placeholder" };
    const context = { messages_count: 3, estimated_tokens: 450, duration_ms: 125 };
    expect(actionsOf("memory.retrieved", { ...inStep, ...context, ...found, injected: ["a", "b"] })).toEqual([
      ["memory_retrieval", found],
    ]);
  });

  const check = {
    ...inStep,
    messages_count: 3,
    estimated_tokens: 450,
    duration_ms: 5,
    reason: "below_threshold",
    compactor_type: "none",
    current_tokens: 450,
    threshold: 100_000,
    tokens_after: 450,
  };

  test("a compaction check without a compaction gives only the action compaction", () => {
    expect(actionsOf("compaction.checked", { ...check, applied: false, messages: null })).toEqual([
      [
        "compaction",
        {
          compaction_applied: false,
          reason: "below_threshold",
          current_tokens: 450,
          threshold: 100_000,
          tokens_after: 450,
          compactor_type: "none",
        },
      ],
    ]);
  });

  test("an applied compaction also gives the action context_transformation", () => {
    const applied = { ...check, applied: true, tokens_after: 100, messages: [{ role: "user", content: "short" }] };
    expect(actionsOf("compaction.checked", applied)).toMatchObject([
      ["compaction", { compaction_applied: true }],
      ["context_transformation", { transformation_type: "compaction", tokens_before: 450, tokens_after: 100 }],
    ]);
  });

  test("step.started gives the row api_call_started as in the specification's example", () => {
    const call = { model: "claude-sonnet-4-5", max_tokens: 2048, thinking_tokens: 0, tools_count: 5 };
    const context = { messages_count: 3, estimated_tokens: 450 };
    expect(actionsOf("step.started", { ...inStep, attempt: 1, purpose: "step", ...call, ...context })).toEqual([
      ["api_call_started", call],
    ]);
  });

  const reply = {
    ...inStep,
    message_id: id,
    results_message_id: id,
    content,
    model: "claude-sonnet-4-5",
    stop_reason: "tool_use",
    usage: { input_tokens: 450, output_tokens: 120 },
    cost: null,
    container_id: null,
    duration_ms: 1845,
  };

  test("step.generated gives the row api_response_received as in the specification's example", () => {
    expect(actionsOf("step.generated", { ...reply, purpose: "step" })).toEqual([
      ["api_response_received", { stop_reason: "tool_use", usage: { input_tokens: 450, output_tokens: 120 }, content }],
    ]);
  });

  test("the actions of a model call for a title have the purpose title, so that they do not count as steps", () => {
    const [[, answered] = []] = actionsOf("step.generated", { ...reply, purpose: "title" });
    expect(answered).toMatchObject({ purpose: "title", stop_reason: "tool_use" });
    const counts = { max_tokens: 64, thinking_tokens: 0, tools_count: 0, messages_count: 1, estimated_tokens: 4 };
    const call = { ...inStep, attempt: 1, purpose: "title" as const, model: "m", ...counts };
    expect(actionsOf("step.started", call)).toMatchObject([["api_call_started", { purpose: "title", max_tokens: 64 }]]);
  });

  test("a cancelled model call gives no api_error, and its text is an interrupted answer", () => {
    const { usage } = reply;
    const given = { ...inStep, model: "m", usage, cost: null, estimated: true as const };
    expect(actionsOf("step.abandoned", { ...given, reason: "cancelled" })).toEqual([]);
    expect(actionsOf("step.abandoned", { ...given, reason: "worker_lost" }).map(([action]) => action)).toEqual([
      "api_error",
    ]);
    const said = { message_id: id, content: [{ type: "text", text: "Once upon" }], interrupted: true as const };
    expect(actionsOf("step.abandoned", { ...given, reason: "cancelled", ...said })).toEqual([
      ["api_response_received", { model: "m", usage, content: said.content, stop_reason: "interrupted" }],
    ]);
  });

  test("the model call for the summary also has the action final_summary_generation", () => {
    expect(actionsOf("step.generated", { ...reply, purpose: "summary" }).map(([action]) => action)).toEqual([
      "api_response_received",
      "final_summary_generation",
    ]);
  });

  const executed = {
    ...inStep,
    tool_use_id: "toolu_123",
    name: "bash_code_execution",
    input: { command: "plot" },
    outcome: "committed" as const,
    content: result,
    is_error: false,
    message_id: id,
    part: 0,
    duration_ms: 850,
  };

  test("tool.completed gives the row tool_execution as in the specification's example", () => {
    expect(actionsOf("tool.completed", executed)).toEqual([
      [
        "tool_execution",
        {
          tool_name: "bash_code_execution",
          tool_use_id: "toolu_123",
          input: { command: "plot" },
          result,
          success: true,
          execution_time_ms: 850,
        },
      ],
    ]);
  });

  test("a failed tool also has the actions tool_error and error", () => {
    const failed = actionsOf("tool.completed", { ...executed, outcome: "failed", is_error: true });
    expect(failed).toMatchObject([
      ["tool_execution", { success: false }],
      ["tool_error", { tool_name: "bash_code_execution", outcome: "failed", error: result }],
      ["error", { tool_use_id: "toolu_123", error: result }],
    ]);
  });

  test("message.created gives the row context_transformation as in the specification's example", () => {
    const transformation = {
      transformation_type: "tool_result_added" as const,
      messages_before_count: 4,
      messages_after_count: 5,
      tokens_before: 570,
      tokens_after: 620,
    };
    const data = { ...inStep, message_id: id, role: "user" as const, rows: 1, ...transformation };
    expect(actionsOf("message.created", data)).toEqual([["context_transformation", transformation]]);
  });

  test("session.completed gives the row run_completed as in the specification's example", () => {
    const final_response = "I've created a chart showing your sales data...";
    const data = { run_id: id, step: 3, stop_reason: "end_turn" as const, final_response, usage, ...totals };
    expect(actionsOf("session.completed", data)).toEqual([
      [
        "run_completed",
        {
          stop_reason: "end_turn",
          total_steps: 3,
          final_response,
          total_input_tokens: 1500,
          total_output_tokens: 800,
          files_generated: 1,
        },
      ],
    ]);
  });

  test.each([
    ["failed", ["run_failed", "error"]],
    ["cancelled", ["run_failed"]],
  ] as const)("a run that %s has the action run_failed", (outcome, actions) => {
    const error = { code: "api_error", message: "it broke" };
    const data = { run_id: id, step: 3, outcome, stop_reason: "error" as const, error, usage, ...totals };
    expect(actionsOf("session.failed", data).map(([action]) => action)).toEqual(actions);
  });
});

test("every action of the agent tables is made from a fact", () => {
  const said = new Set(Object.values(DIALECTS).flatMap(({ actions }) => actions.map(({ action }) => action)));
  expect([...said].toSorted()).toEqual([...ACTION_TYPES].toSorted());
});

test("a row of agent_runs uses only keys of its fact", () => {
  for (const [type, { actions }] of Object.entries(DIALECTS))
    for (const row of actions)
      for (const pick of [...Object.values(row.data), ...(row.when ? [row.when[0]] : [])]) {
        if (pick.startsWith("=")) continue;
        const key = pick.replace("!", "").split(".")[0] ?? "";
        expect(Object.keys(FACTS[type as FactType].shape), `${type} → ${row.action}`).toContain(key);
      }
});

test("the row of a fact that was adopted later has the time at which it happened", () => {
  const told = { id, session_id: id, sequence: 2, event_type: "file.generated" as const };
  const data = { ...inStep, file_id: "f", filename: "a.png" };
  const live = { ...told, data, created_at: "2026-11-19T10:00:00.000Z" };
  expect(actionLogs(live).map(({ timestamp }) => timestamp)).toEqual(["2026-11-19T10:00:00.000Z"]);
  const started = { run_id: id, message_id: id, user_message: "hi", formatter: "json" };
  const adopted = {
    ...live,
    event_type: "session.started" as const,
    data: { happened_at: "2026-05-04T10:00:00.000Z", ...started },
  };
  expect(actionLogs(adopted).map(({ timestamp }) => timestamp)).toEqual(["2026-05-04T10:00:00.000Z"]);
});

test("every fact that gives a row of agent_runs can have the time at which it happened", () => {
  const shown = Object.entries(DIALECTS).filter(([, { actions }]) => actions.length > 0);
  const timeless = shown.filter(([type]) => !("happened_at" in FACTS[type as FactType].shape));
  expect(timeless.map(([type]) => type)).toEqual([]);
});

test("a missing key is null in action_data", () => {
  expect(actionData({ action: "api_error", data: { error: "error", tokens: "usage.input_tokens" } }, {})).toEqual({
    error: null,
    tokens: null,
  });
});
