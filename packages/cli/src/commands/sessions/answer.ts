import { EXIT } from "../../terminal/exit-codes.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";
import { visible } from "../../terminal/visible-text.ts";

export const answer = sessionCommand({
  name: "sessions answer",
  words: "SESSION TOOL_USE_ID TEXT",
  summary: "Answer a call that a session waits for: a question, a frontend tool, an approval.",
  options: {
    deny: { about: "Deny an approval, or report that a frontend tool failed; TEXT says why" },
    json: JSON_OPTION,
  },
  examples: [
    "skein sessions answer 0199c8f1 toolu_01… blue",
    "skein sessions answer 0199c8f1 toolu_02… 'Not on a Friday.' --deny",
  ],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const [, toolUseId = "", content = ""] = call.words;
      const answered = await sessions.answer(id, toolUseId, { content, isError: call.values.deny });
      if (call.values.json) call.screen.json(answered);
      else call.screen.note(`${answered.disposition}: ${visible(answered.reason)}\n`);
      return answered.disposition === "accepted" || answered.disposition === "duplicate" ? EXIT.completed : EXIT.failed;
    }),
});
