import { type Store, createAgents, createModels, createSessions } from "@skein/core";
import { type Script, createScript, scriptedAgent } from "@skein/core/testing";
import { AgentConfig, type Fact, type Ids } from "@skein/protocol";

/** The main example session, and its first run. */
export interface Played {
  readonly sessionId: string;
  readonly runId: string;
}

const agent = AgentConfig.parse({
  ...scriptedAgent,
  tool_schemas: [{ name: "search", description: "Searches", input_schema: { type: "object" } }],
});

/**
 * Makes example sessions with every status, role, fact and action of the specifications. Also makes a fork, a pause for
 * the browser, agents and models.
 */
export async function playSessions(store: Store, ids: Ids): Promise<Played> {
  const models = createModels({ records: store.records, ids });
  const model = await models.add({ name: "claude-sonnet-4-5", isDefault: true });
  const agents = createAgents({ records: store.records, ids });
  await agents.create({ ...agent, description: "An agent", tags: ["a"], default_model_id: model.id });
  await agents.archive((await agents.create({ ...agent })).id);

  const pending = createScript({ store, ids });
  await pending.create({ title: "Nothing yet", tags: ["a"], model_id: model.id });
  const completed = createScript({ store, ids });
  await completed.create({ agent });
  await completed.toolTurn("How much is 2+2?");

  const whole = createScript({ store, ids });
  await whole.create({ agent, title: "Everything", working_directory: "/w", metadata: { k: 1 } });
  const copied = { message_id: ids(), role: "system" as const, content: "You are being tested." };
  await whole.append([{ event_type: "message.copied", data: copied }]);
  await whole.toolTurn("How much is 2+2?");
  await playEveryFact(whole, ids);
  await playPause(store, ids);
  await createSessions({ store, ids }).fork(whole.sessionId);

  const { items } = await store.runs(whole.sessionId);
  return { sessionId: whole.sessionId, runId: items.at(-1)?.id ?? "" };
}

const usage = { input_tokens: 10, output_tokens: 5 };
const error = { code: "overloaded_error", message: "Overloaded", status: 529 };

function entered(runId: string, messageId: string, role: "user" | "assistant", rows: number): Fact {
  return {
    event_type: "message.created",
    data: {
      message_id: messageId,
      run_id: runId,
      step: 1,
      role,
      rows,
      transformation_type: role === "user" ? "user_message_added" : "assistant_message_added",
      messages_before_count: 5,
      messages_after_count: 6,
      tokens_before: 50,
      tokens_after: 60,
    },
  };
}

function started(runId: string, messageId: string): Fact {
  return {
    event_type: "session.started",
    data: { run_id: runId, message_id: messageId, user_message: "Go on", formatter: "xml" },
  };
}

const call = (id: string, name: string) => ({ type: "tool_use", id, name, input: { query: "x" } });

function generated(
  runId: string,
  purpose: "step" | "summary" | "title",
  reply: { messageId: string; resultsId?: string; content: { type: string; [key: string]: unknown }[] },
): Fact {
  return {
    event_type: "step.generated",
    data: {
      run_id: runId,
      step: 1,
      purpose,
      message_id: reply.messageId,
      results_message_id: reply.resultsId ?? null,
      content: reply.content,
      model: scriptedAgent.model,
      stop_reason: reply.resultsId === undefined ? "end_turn" : "tool_use",
      usage,
      cost: null,
      container_id: "container_1",
      duration_ms: 7,
    },
  };
}

function toolCompleted(
  runId: string,
  toolUseId: string,
  results: { messageId: string; part: number; fails: boolean },
): Fact {
  return {
    event_type: "tool.completed",
    data: {
      run_id: runId,
      step: 1,
      tool_use_id: toolUseId,
      name: "search",
      input: { query: "x" },
      outcome: results.fails ? "failed" : "committed",
      content: results.fails ? "It broke" : "found",
      is_error: results.fails,
      message_id: results.messageId,
      part: results.part,
      duration_ms: 3,
    },
  };
}

function awaitOpened(runId: string, toolUseId: string): Fact {
  const opened = { kind: "frontend_tool" as const, name: "confirm", input: {}, expires_at: null, session_id: null };
  return {
    event_type: "await.opened",
    data: { run_id: runId, step: 1, awaits: [{ ...opened, tool_use_id: toolUseId }] },
  };
}

/** Adds a run to the session. The run has the facts behind every specified event and action, and then fails. */
async function playEveryFact(script: Script, ids: Ids): Promise<void> {
  const { messageId, runId } = await script.prompt("Go on");
  const lease = await script.claim();
  const [replyId, resultsId, summaryId] = [ids(), ids(), ids()];
  const step = { run_id: runId, step: 1 };
  const context = { messages_count: 6, estimated_tokens: 60, duration_ms: 5 };
  const memory = { ...step, memory_store_type: "placeholder", duration_ms: 1 };
  const file = { ...step, file_id: "file_1", filename: "chart.png" };
  const check = { reason: "over", compactor_type: "summarize", current_tokens: 60, threshold: 50, tokens_after: 10 };
  const stepStarted: Fact = {
    event_type: "step.started",
    data: {
      ...step,
      attempt: 1,
      purpose: "step",
      model: scriptedAgent.model,
      max_tokens: 2048,
      thinking_tokens: 0,
      tools_count: 1,
      messages_count: 6,
      estimated_tokens: 60,
    },
  };
  const facts: readonly Fact[] = [
    started(runId, messageId),
    { event_type: "run.resumed", data: { run_id: runId, fence: lease.fence } },
    entered(runId, messageId, "user", 1),
    {
      event_type: "memory.retrieved",
      data: { ...memory, ...context, memories_found: 3, memories_injected: 2, injected: ["a", "b"] },
    },
    { event_type: "memory.saved", data: { ...memory, details: {} } },
    {
      event_type: "compaction.checked",
      data: { ...step, ...context, ...check, applied: true, messages: [{ role: "user", content: "In short" }] },
    },
    { event_type: "memory.restored", data: { ...memory, details: {} } },
    stepStarted,
    { event_type: "step.retried", data: { ...step, attempt: 1, error, delay_ms: 1000 } },
    stepStarted,
    { event_type: "step.abandoned", data: { ...step, model: scriptedAgent.model, usage, cost: null } },
    stepStarted,
    generated(runId, "step", { messageId: replyId, resultsId, content: [call("t1", "search"), call("t2", "confirm")] }),
    entered(runId, replyId, "assistant", 2),
    {
      event_type: "tool.started",
      data: { ...step, tool_use_id: "t1", name: "search", input: { query: "x" }, policy: "once" },
    },
    toolCompleted(runId, "t1", { messageId: resultsId, part: 0, fails: true }),
    awaitOpened(runId, "t2"),
    { event_type: "await.answered", data: { tool_use_id: "t2", content: "yes", is_error: false } },
    { event_type: "await.resolved", data: { ...step, tool_use_id: "t2", resolution: "answered", waited_ms: 12 } },
    toolCompleted(runId, "t2", { messageId: resultsId, part: 1, fails: false }),
    entered(runId, resultsId, "user", 2),
    { event_type: "file.generated", data: file },
    { event_type: "file.downloaded", data: { ...file, size: 5, duration_ms: 1 } },
    {
      event_type: "file.stored",
      data: { ...file, storage_path: "/f/chart.png", size: 5, mime_type: "image/png", duration_ms: 1 },
    },
    { event_type: "file.failed", data: { ...step, file_id: "file_2", filename: null, error } },
    {
      event_type: "checkpoint.created",
      data: { checkpoint_id: ids(), user_message_uuid: "u", files_modified: ["/a"] },
    },
    { event_type: "transcript.repaired", data: { ...step, repairs: [{ tool_use_id: "x" }] } },
    { event_type: "answer.validated", data: { ...step, passed: false, reason: "too short" } },
    { event_type: "steps.exhausted", data: { ...step, max_steps: 50 } },
    generated(runId, "summary", { messageId: summaryId, content: [{ type: "text", text: "In sum" }] }),
    entered(runId, summaryId, "assistant", 1),
    generated(runId, "title", { messageId: ids(), content: [{ type: "text", text: "A title" }] }),
    { event_type: "title.generated", data: { title: "A title" } },
    { event_type: "memory.updated", data: { ...memory, memories_written: 1 } },
    { event_type: "step.error", data: { ...step, error, duration_ms: 4 } },
    {
      event_type: "session.failed",
      data: {
        ...step,
        outcome: "failed",
        stop_reason: "error",
        error,
        usage: { ...usage, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
        cost_micros: 0,
        unpriced_calls: 4,
        files_generated: 1,
        duration_ms: 9,
      },
    },
  ];
  await script.append(facts.slice(0, -1), { lease });
  await script.append(facts.slice(-1), { lease });
}

/** Makes a session that waits for the browser and already has the result of a backend tool. */
async function playPause(store: Store, ids: Ids): Promise<void> {
  const script = createScript({ store, ids });
  await script.create({ agent });
  const { messageId, runId } = await script.prompt("Ask me");
  const lease = await script.claim();
  const [replyId, resultsId] = [ids(), ids()];
  await script.append(
    [
      started(runId, messageId),
      entered(runId, messageId, "user", 1),
      generated(runId, "step", {
        messageId: replyId,
        resultsId,
        content: [call("p1", "search"), call("p2", "confirm")],
      }),
      entered(runId, replyId, "assistant", 2),
      toolCompleted(runId, "p1", { messageId: resultsId, part: 0, fails: false }),
      awaitOpened(runId, "p2"),
    ],
    { lease },
  );
}
