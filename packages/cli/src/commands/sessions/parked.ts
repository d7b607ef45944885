import { createParking } from "@skein/core";
import { counted } from "../../terminal/counts.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { storeCommand, withStore } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";
import { visible } from "../../terminal/visible-text.ts";

const TENANT = "default";

export const parked = storeCommand({
  name: "sessions parked",
  summary: "List sessions that failed five times. They run again only after a retry.",
  options: {
    retry: { takes: "SESSION", about: "Run this session again" },
    discard: { takes: "SESSION", about: "Remove this session from the list; its events stay" },
    json: JSON_OPTION,
  },
  examples: ["skein sessions parked", "skein sessions parked --retry 0199c8f1-0000-7000-8000-000000000000"],
  run: (call) =>
    withStore(call, async (store) => {
      const parking = createParking({ store, now: Date.now, report: () => {} });
      const { retry, discard, json } = call.values;
      if (retry !== undefined) await parking.retry(TENANT, retry);
      if (discard !== undefined) await parking.discard(TENANT, discard);
      if (retry !== undefined || discard !== undefined) return EXIT.completed;
      const { items } = await parking.list(TENANT, { limit: 200 });
      for (const item of items)
        if (json) call.screen.json(item);
        else
          call.screen.out(
            `${item.sessionId}  ${item.parkedAt}  ${counted(item.attempts, "attempt")}  ${visible(item.problem)}\n`,
          );
      if (items.length === 0 && !json) call.screen.note("No session is parked.\n");
      return EXIT.completed;
    }),
});
