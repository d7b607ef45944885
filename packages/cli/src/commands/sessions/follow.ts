import { EXIT } from "../../terminal/exit-codes.ts";
import { onStop } from "../../terminal/interrupts.ts";
import { wholeNumber } from "../../terminal/option-kinds.ts";
import { print, printJson } from "../../terminal/print-run.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";

export const follow = sessionCommand({
  name: "sessions follow",
  words: "SESSION",
  summary: "Show what happens in a session, live. Ctrl-C stops the display, not the session.",
  options: {
    after: {
      takes: "SEQUENCE",
      kind: wholeNumber(),
      about: "Start after this event: 0 shows everything (default: only new events)",
    },
    json: JSON_OPTION,
  },
  examples: ["skein sessions follow 0199c8f1", "skein sessions follow 0199c8f1 --after 0 --json"],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { values, screen } = call;
      const { sequence, run, queue } = await sessions.state(id);
      const stop = new AbortController();
      const stopListening = onStop(() => stop.abort());
      const events = sessions.follow(id, { after: values.after ?? sequence }, stop.signal);
      const isIdle = run === null && queue.length === 0 && values.after === undefined;
      const idle = isIdle ? ` Nothing runs in it now. "skein sessions show ${id}" shows what happened.` : "";
      screen.note(screen.paint.note.dim(`Following.${idle} Ctrl-C stops.\n`));
      try {
        await (values.json ? printJson(screen, events) : print(screen, events));
      } finally {
        stopListening();
      }
      return EXIT.completed;
    }),
});
