import type { Sessions } from "@skein/core";
import type { Run } from "@skein/protocol";
import { type AgentLog, logsOf } from "../result.ts";
import { cost, minute, moment, seconds } from "../terminal/amounts.ts";
import { EXIT } from "../terminal/exit.ts";
import {
  JSON_OPTION,
  STORE_OPTION,
  type SessionCommand,
  runGroup,
  text,
  withSessions,
  wordsOf,
} from "../terminal/session-command.ts";
import { printTable } from "../terminal/table.ts";
import { brief } from "../terminal/visible.ts";
import { limitOf } from "./sessions.ts";
import { KnownError } from "@skein/protocol";

const list: SessionCommand = {
  name: "runs list",
  words: "SESSION",
  summary: "List the runs of a session, the newest first.",
  options: [["limit", "N", "At most so many (default 50)"], JSON_OPTION, STORE_OPTION],
  examples: ["skein runs list 0199c8f1-…", "skein runs list 0199c8f1-… --json"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [id = ""] = wordsOf(call, "SESSION");
      await sessions.get(id);
      const items: Run[] = [];
      for await (const run of runsOf(sessions, id)) if (items.push(run) === limitOf(call)) break;
      if (call.values["json"] === true) for (const run of items) call.screen.json(run);
      else if (items.length === 0) call.screen.note("The session has no run.\n");
      else
        printTable(
          call.screen,
          ["#", "ID", "OUTCOME", "STEPS", "COST", "STARTED", "PROMPT"],
          items.map((run) => [
            String(run.number),
            run.id,
            run.outcome ?? "under way",
            String(run.total_steps),
            cost(run.cost_micros, run.unpriced_calls),
            minute(run.started_at),
            brief(run.user_message, 50),
          ]),
        );
      return EXIT.completed;
    }),
};

const logs: SessionCommand = {
  name: "runs logs",
  words: "RUN",
  summary: "The log of a run, one line per action: what seed 002 calls agent_runs.",
  options: [
    ["session", "ID", "The session of the run; found by looking through all of them otherwise"],
    ["action", "TYPE", "Only this type of action, for example tool_execution"],
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: ["skein runs logs 0199c8f2-…", "skein runs logs 0199c8f2-… --action error --json"],
  run: (call) =>
    withSessions(call, async (sessions) => {
      const [runId = ""] = wordsOf(call, "RUN");
      const done = call.screen.progress("Looking for the run");
      const sessionId = text(call.values, "session") ?? (await sessionOf(sessions, runId).finally(done));
      done();
      const action = text(call.values, "action");
      const rows = logsOf(await sessions.events(sessionId), runId).filter(
        ({ actionType }) => action === undefined || actionType === action,
      );
      if (call.values["json"] === true)
        for (const row of rows) call.screen.json({ session_id: sessionId, run_id: runId, ...inSeedWords(row) });
      else
        printTable(
          call.screen,
          ["TIME", "STEP", "ACTION", "TOOK", "DATA"],
          rows.map(({ timestamp, stepNumber, actionType, actionData, durationMs }) => [
            moment(timestamp),
            String(stepNumber),
            actionType,
            durationMs === null ? "" : seconds(durationMs),
            brief(JSON.stringify(actionData), 100),
          ]),
        );
      return EXIT.completed;
    }),
};

/** `skein runs`. */
export function runs(args: readonly string[]): Promise<number> {
  return runGroup({ name: "runs", commands: { list, logs } }, args);
}

/** A row in the words of the seed and of the server. */
function inSeedWords({ timestamp, ...row }: AgentLog) {
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

async function* runsOf(sessions: Sessions, sessionId: string): AsyncGenerator<Run> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.runs(sessionId, { limit: 100, ...(typeof cursor === "string" && { cursor }) });
    yield* page.items;
    ({ cursor } = page);
  }
}

/** The session that a run belongs to. Runs are listed by session, so this looks through them, the newest first. */
async function sessionOf(sessions: Sessions, runId: string): Promise<string> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.list({ limit: 100, ...(typeof cursor === "string" && { cursor }) });
    for (const { id } of page.items) for await (const run of runsOf(sessions, id)) if (run.id === runId) return id;
    ({ cursor } = page);
  }
  throw new KnownError("not_found", `There is no run ${runId}.`);
}
