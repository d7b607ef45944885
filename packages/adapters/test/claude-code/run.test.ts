/** Sessions on the real binary of the Claude Agent SDK, against the simulator. */
import { expect, test } from "vitest";
import { createWorld, only, play } from "./world.ts";

test("a prompt runs on Claude Code, and its answer is in the log", async () => {
  const world = await createWorld();
  const { sessionId, events } = await world.run(
    play(
      { thinking: "Hm.", text: "Looking.", tools: [{ name: "Bash", input: { command: "echo from-bash-$((40+2))" } }] },
      { text: "Done: $LAST" },
    ),
    { allowed_tools: ["Bash"] },
  );
  expect(world.problems).toEqual([]);
  expect(
    events.filter(({ event_type }) => event_type !== "transcript.appended").map(({ event_type }) => event_type),
  ).toEqual([
    "session.started",
    "message.created",
    "runtime.started",
    "step.started",
    "step.generated",
    "message.created",
    "tool.started",
    "tool.completed",
    "message.created",
    "step.started",
    "step.generated",
    "message.created",
    "session.completed",
  ]);
  expect(only(events, "session.completed")[0]?.data).toMatchObject({
    stop_reason: "end_turn",
    final_response: "Done: from-bash-42",
    result: { subtype: "success", session_id: sessionId },
  });
  const transcript = await world.sessions.transcript(sessionId);
  expect(transcript.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});
