import { EXIT } from "../../terminal/exit-codes.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";

export const cancel = sessionCommand({
  name: "sessions cancel",
  words: "SESSION",
  summary: "Cancel the current run or a queued run of a session.",
  options: {
    run: { takes: "RUN", about: "The run to cancel (default: the current run)" },
    reason: { takes: "TEXT", about: "A reason, which is written to the log" },
    json: JSON_OPTION,
  },
  examples: ["skein sessions cancel 0199c8f1 --reason 'Too expensive'"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { run: runId, reason, json } = call.values;
      const run = await sessions.cancel(id, {
        ...(runId !== undefined && { runId }),
        ...(reason !== undefined && { reason }),
      });
      if (json) call.screen.json({ session_id: id, run_id: run.id, event_sequence: run.sequence });
      else call.screen.note("Cancelled. The process that runs the session stops at its next step.\n");
      return EXIT.completed;
    }),
});
