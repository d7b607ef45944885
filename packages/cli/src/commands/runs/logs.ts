import { type AgentLog, logsOf } from "skein/result";
import { duration, longTime } from "../../terminal/times.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { findRun, sessionIdOf } from "../../terminal/find-session.ts";
import { sessionCommand, withSessions } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";
import { printTable } from "../../terminal/table.ts";
import { shorten } from "../../terminal/width.ts";

export const logs = sessionCommand({
  name: "runs logs",
  words: "RUN",
  summary: "Show the log of a run, one line per action. These are the rows of the table agent_runs.",
  options: {
    session: {
      takes: "SESSION",
      short: "s",
      about: "The session of the run. Without it all sessions are searched",
    },
    action: { takes: "TYPE", about: "Only this type of action, for example tool_execution" },
    json: JSON_OPTION,
  },
  examples: ["skein runs logs 0199c8f2", "skein runs logs 0199c8f2 --action error --json"],
  run: (call) =>
    withSessions(call, async ({ sessions }) => {
      const [word = ""] = call.words;
      const { session, action, json } = call.values;
      const done = call.screen.progress("Looking for the run");
      const { sessionId, runId } = await findRun(
        sessions,
        word,
        session === undefined ? undefined : await sessionIdOf(sessions, session),
      ).finally(done);
      const rows = logsOf(await sessions.events(sessionId), runId).filter(
        ({ actionType }) => action === undefined || actionType === action,
      );
      if (json)
        for (const row of rows) call.screen.json({ session_id: sessionId, run_id: runId, ...agentTableRow(row) });
      else
        printTable(
          call.screen,
          ["TIME", "STEP", "ACTION", "TOOK", "DATA"],
          rows.map(({ timestamp, stepNumber, actionType, actionData, durationMs }) => [
            longTime(new Date(timestamp)),
            String(stepNumber),
            actionType,
            durationMs === null ? "" : duration(durationMs),
            shorten(JSON.stringify(actionData), 100),
          ]),
        );
      return EXIT.completed;
    }),
});

/** Returns a row with the column names of the agent tables. A server uses the same names. */
function agentTableRow({ timestamp, ...row }: AgentLog) {
  return {
    timestamp,
    step_number: row.stepNumber,
    action_type: row.actionType,
    action_data: row.actionData,
    messages_count: row.messagesCount,
    estimated_tokens: row.estimatedTokens,
    duration_ms: row.durationMs,
  };
}
