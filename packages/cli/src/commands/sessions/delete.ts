import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION, YES_OPTION } from "../../terminal/shared-options.ts";

export const deleteCommand = sessionCommand({
  name: "sessions delete",
  words: "SESSION",
  summary: "Delete a session and everything that was said in it. There is no way back.",
  options: { yes: YES_OPTION, json: JSON_OPTION },
  examples: ["skein sessions delete 0199c8f1 --yes"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { title } = await sessions.get(id);
      if (!call.values.yes)
        throw new UsageError(
          `Session ${id}${title === null ? "" : ` ("${title}")`} would be gone for good. --yes deletes it.`,
        );
      await sessions.delete(id);
      if (call.values.json) call.screen.json({ session_id: id, deleted: true });
      else call.screen.note("Deleted.\n");
      return EXIT.completed;
    }),
});
