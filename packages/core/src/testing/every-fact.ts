import { type Fact, priceCall } from "@skein/protocol";
import type { Script } from "./script.ts";

/** Plays a session with every type of fact. */
export async function playEverything(script: Script): Promise<void> {
  await script.create({ title: "everything", tags: ["a", "b"], metadata: { k: "v" }, working_directory: "/w" });
  await script.append([
    {
      event_type: "message.copied",
      data: {
        message_id: "01890000-0000-7000-8000-00000000cccc",
        role: "assistant",
        content: [
          { type: "text", text: "copied\0" },
          { type: "tool_use", id: "t0", name: "search", input: {} },
        ],
      },
    },
  ]);
  await script.toolTurn("first");
  await script.append([{ event_type: "control.requested", data: { permission_mode: "plan", model: "claude-other" } }]);
  await script.append([{ event_type: "session.edited", data: { title: "renamed", tags: ["c"], metadata: {} } }]);
  const { runId, messageId } = await script.prompt([
    { type: "text", text: "second\0" },
    { type: "image", source: { type: "url", url: "x" } },
  ]);
  const lease = await script.claim();
  const step = { run_id: runId, step: 1 };
  const context = { messages_count: 5, estimated_tokens: 50, duration_ms: 1 };
  const usage = { input_tokens: 10, output_tokens: 5 };
  const rewind = {
    rewind_id: "01890000-0000-7000-8000-0000000000ee",
    checkpoint_id: "01890000-0000-7000-8000-0000000000ff",
    dry_run: false,
  };
  const facts: readonly Fact[] = [
    {
      event_type: "session.started",
      data: { run_id: runId, message_id: messageId, user_message: "second\0", formatter: "xml" },
    },
    { event_type: "run.resumed", data: { run_id: runId, fence: lease.fence } },
    { event_type: "runtime.started", data: { run_id: runId, info: { model: "claude-opus-5-5", tools: ["Bash"] } } },
    {
      event_type: "hook.called",
      data: {
        run_id: runId,
        hook_event: "PreToolUse",
        tool_use_id: "t8",
        tool_name: "Bash",
        decision: "deny",
        reason: "not here",
        modified_input: null,
        error: null,
        duration_ms: 1,
      },
    },
    {
      event_type: "subagent.messaged",
      data: {
        run_id: runId,
        message_id: "01890000-0000-7000-8000-00000000dddd",
        parent_tool_use_id: "t8",
        role: "assistant",
        content: [{ type: "text", text: "I look." }],
        model: "claude-haiku-4-5",
        usage,
        cost: priceCall("claude-haiku-4-5", usage) ?? null,
      },
    },
    {
      event_type: "runtime.noticed",
      data: {
        run_id: runId,
        message_id: "01890000-0000-7000-8000-00000000eeee",
        subtype: "compact_boundary",
        notice: { text: "It was shortened." },
      },
    },
    {
      event_type: "parent.informed",
      data: { ...step, session_id: "01890000-0000-7000-8000-00000000ffff", tool_use_id: "t7" },
    },
    {
      event_type: "memory.retrieved",
      data: {
        ...step,
        ...context,
        memories_found: 3,
        memories_injected: 2,
        memory_store_type: "placeholder",
        injected: ["m"],
      },
    },
    {
      event_type: "compaction.checked",
      data: {
        ...step,
        ...context,
        applied: false,
        reason: "below_threshold",
        compactor_type: "none",
        current_tokens: 450,
        threshold: 100_000,
        tokens_after: 450,
        messages: null,
      },
    },
    { event_type: "memory.saved", data: { ...step, memory_store_type: "placeholder", duration_ms: 1, details: {} } },
    { event_type: "memory.restored", data: { ...step, memory_store_type: "placeholder", duration_ms: 1, details: {} } },
    {
      event_type: "step.retried",
      data: {
        ...step,
        attempt: 1,
        error: { code: "overloaded_error", message: "Overloaded", status: 529 },
        delay_ms: 1000,
      },
    },
    { event_type: "step.abandoned", data: { ...step, model: "claude-sonnet-4-5", usage, cost: null } },
    {
      event_type: "step.generated",
      data: {
        ...step,
        purpose: "title",
        message_id: script.event({ event_type: "title.generated", data: { title: "" } }).id,
        results_message_id: null,
        content: [],
        model: "claude-haiku-4-5",
        stop_reason: "end_turn",
        usage,
        cost: null,
        container_id: "container_1",
        duration_ms: 3,
      },
    },
    { event_type: "title.generated", data: { title: "A title" } },
    { event_type: "file.generated", data: { ...step, file_id: "file_1", filename: "chart.png" } },
    {
      event_type: "file.downloaded",
      data: { ...step, file_id: "file_1", filename: "chart.png", size: 5, duration_ms: 1 },
    },
    {
      event_type: "file.stored",
      data: {
        ...step,
        file_id: "file_1",
        filename: "chart.png",
        storage_path: "/f/file_1_chart.png",
        size: 5,
        mime_type: "image/png",
        duration_ms: 1,
      },
    },
    {
      event_type: "file.failed",
      data: { ...step, file_id: "file_2", filename: null, error: { code: "not_found", message: "gone" } },
    },
    { event_type: "answer.validated", data: { ...step, passed: false, reason: "too short" } },
    { event_type: "transcript.repaired", data: { ...step, repairs: [{ tool_use_id: "x" }] } },
    {
      event_type: "await.opened",
      data: {
        ...step,
        awaits: [
          {
            tool_use_id: "t9",
            kind: "frontend_tool",
            name: "confirm",
            input: { a: 1 },
            expires_at: null,
            session_id: null,
          },
        ],
      },
    },
    {
      event_type: "checkpoint.created",
      data: {
        checkpoint_id: rewind.checkpoint_id,
        user_message_uuid: "u",
        files_modified: ["/a", "/b"],
      },
    },
    {
      event_type: "rewind.requested",
      data: { ...rewind, user_message_uuid: "u" },
    },
    {
      event_type: "rewind.completed",
      data: { ...rewind, files_changed: ["/a"], insertions: 1, deletions: 2, error: null },
    },
    { event_type: "transcript.appended", data: { entries: [{ type: "user", uuid: "u" }], subpath: null } },
    { event_type: "steps.exhausted", data: { ...step, max_steps: 50 } },
    {
      event_type: "memory.updated",
      data: { ...step, memories_written: 1, memory_store_type: "placeholder", duration_ms: 2 },
    },
    { event_type: "step.error", data: { ...step, error: { code: "api_error", message: "it broke" }, duration_ms: 4 } },
  ];
  for (const fact of facts) await script.append([fact], { lease });
  await script.append([{ event_type: "await.answered", data: { tool_use_id: "t9", content: "yes", is_error: false } }]);
  await script.append([{ event_type: "cancel.requested", data: { run_id: runId, reason: null } }]);
  await script.append(
    [
      { event_type: "await.resolved", data: { ...step, tool_use_id: "t9", resolution: "cancelled", waited_ms: 7 } },
      {
        event_type: "session.failed",
        data: {
          ...step,
          outcome: "cancelled",
          stop_reason: "cancelled",
          error: { code: "cancelled", message: "Cancelled." },
          usage: { input_tokens: 20, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
          cost_micros: 0,
          unpriced_calls: 2,
          files_generated: 1,
          duration_ms: 9,
        },
      },
    ],
    { lease },
  );
}
