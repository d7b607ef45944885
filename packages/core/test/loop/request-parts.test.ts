import type { Event } from "@skein/protocol";
import { expect, test } from "vitest";
import { type SessionState, emptyState } from "../../src/log/state.ts";
import { createRequestParts } from "../../src/loop/request-parts.ts";

const event = (sequence: number, event_type: string, data: object): Event =>
  ({ sequence, event_type, data }) as unknown as Event;

test("each part of a request is traced to a memory, a summary of a compaction, a message, a call or a result", () => {
  const parts = createRequestParts();
  parts.note(event(2, "prompt.accepted", { message_id: "m1" }));
  parts.note(event(3, "session.started", { message_id: "m1" }));
  parts.note(event(4, "memory.retrieved", { injected: ["likes wool"] }));
  parts.note(event(5, "step.generated", { message_id: "m2" }));
  parts.note(event(6, "tool.completed", { tool_use_id: "t1", message_id: "m3" }));
  parts.note(event(7, "compaction.checked", { messages: [{ role: "user", content: "So far: nothing." }] }));
  const call = { type: "tool_use", id: "t1", name: "Look", input: {} };
  const result = { type: "tool_result", tool_use_id: "t1", content: "seen" };
  const state = {
    ...emptyState("s"),
    compacted: { until: 0, messages: [{ role: "user", content: "So far: nothing." }] },
    recalled: { m1: ["likes wool"] },
    transcript: [
      { id: "m1", role: "user", content: "Look twice" },
      { id: "m2", role: "assistant", content: [call] },
      { id: "m3", role: "user", content: [result] },
    ],
  } as unknown as SessionState;
  const text = (words: string): object => ({ type: "text", text: words });
  const body = {
    tools: [{ name: "Look" }],
    system: [text("Be brief.")],
    messages: [
      { role: "user", content: "So far: nothing." },
      { role: "user", content: [text("What you remember that may matter here:\n- likes wool"), text("Look twice")] },
      { role: "assistant", content: [call] },
      // The last block has the cache mark. The loop has added the request for a summary.
      { role: "user", content: [{ ...result, cache_control: { type: "ephemeral" } }, text("Now summarise.")] },
    ],
  };
  expect(parts.parts(state, body as never).map(({ path, origin, sequence }) => [path, origin, sequence])).toEqual([
    ["tools", "tools", null],
    ["system.0", "system", null],
    ["messages.0.0", "compaction", 7],
    ["messages.1.0", "memory", 4],
    ["messages.1.1", "message", 2],
    ["messages.2.0", "model", 5],
    ["messages.3.0", "result", 6],
    ["messages.3.1", "system", null],
  ]);
});
