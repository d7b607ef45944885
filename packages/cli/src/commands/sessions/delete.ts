import { isConfirmed } from "../../terminal/confirm.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION, YES_OPTION } from "../../terminal/shared-options.ts";
import { visibleLine } from "../../terminal/visible-text.ts";

export const deleteCommand = sessionCommand({
  name: "sessions delete",
  words: "SESSION",
  summary: "Delete a session and its whole log. This cannot be undone. On a terminal it asks first.",
  options: { yes: YES_OPTION, json: JSON_OPTION },
  examples: ["skein sessions delete 0199c8f1", "skein sessions delete 0199c8f1 --yes"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { title } = await sessions.get(id);
      const what = `Session ${id}${title === null ? "" : ` ("${visibleLine(title)}")`}`;
      const { yes } = call.values;
      if (!yes && !(await isConfirmed(`Delete ${what}?`, `${what} was not deleted: add --yes to delete it.`))) {
        call.screen.note("Nothing was deleted.\n");
        return EXIT.cancelled;
      }
      await sessions.delete(id);
      if (call.values.json) call.screen.json({ session_id: id, deleted: true });
      else call.screen.note("Deleted.\n");
      return EXIT.completed;
    }),
});
