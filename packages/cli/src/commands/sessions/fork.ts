import { EXIT } from "../../terminal/exit-codes.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";

export const fork = sessionCommand({
  name: "sessions fork",
  words: "SESSION",
  summary: "Make a new session that starts with a copy of this conversation. The old session is not changed.",
  options: {
    message: { takes: "ID", about: "Copy up to and including this message" },
    title: { takes: "TEXT", about: "The title of the new session" },
    json: JSON_OPTION,
  },
  examples: ["skein sessions fork 0199c8f1 --title 'Another way'"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { message: messageId, title, json } = call.values;
      const made = await sessions.fork(id, {
        ...(messageId !== undefined && { messageId }),
        ...(title !== undefined && { title }),
      });
      if (json) call.screen.json(made);
      else call.screen.out(`${made.id}\n`);
      return EXIT.completed;
    }),
});
