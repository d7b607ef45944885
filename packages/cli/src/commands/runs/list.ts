import { cost } from "../../terminal/amounts.ts";
import { shortTime } from "../../terminal/times.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { first, runsOf } from "../../terminal/find-session.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION, LIMIT, LIMIT_OPTION } from "../../terminal/shared-options.ts";
import { printTable } from "../../terminal/table.ts";
import { shorten } from "../../terminal/width.ts";

export const list = sessionCommand({
  name: "runs list",
  words: "SESSION",
  summary: "List the runs of a session, the newest first.",
  options: {
    limit: LIMIT_OPTION,
    json: JSON_OPTION,
  },
  examples: ["skein runs list 0199c8f1", "skein runs list 0199c8f1 --json"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { values, screen } = call;
      await sessions.get(id);
      const items = await first(values.limit ?? LIMIT, runsOf(sessions, id));
      if (values.json) for (const run of items) screen.json(run);
      else if (items.length === 0) screen.note("The session has no run.\n");
      else
        printTable(
          screen,
          ["#", "ID", "OUTCOME", "STEPS", "COST", "STARTED", "PROMPT"],
          items.map((run) => [
            String(run.number),
            run.id,
            run.outcome ?? "under way",
            String(run.total_steps),
            cost(run.cost_micros, run.unpriced_calls),
            shortTime(new Date(run.started_at)),
            shorten(run.user_message, 50),
          ]),
        );
      return EXIT.completed;
    }),
});
