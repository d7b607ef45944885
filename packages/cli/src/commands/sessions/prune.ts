import { createSessions, expiredSessions } from "@skein/core";
import { isConfirmed } from "../../terminal/confirm.ts";
import { counted } from "../../terminal/counts.ts";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { forgetIn, storeCommand, withStore } from "../../terminal/session-command.ts";
import { JSON_OPTION, YES_OPTION } from "../../terminal/shared-options.ts";

const DAY_MS = 86_400_000;

export const prune = storeCommand({
  name: "sessions prune",
  summary:
    "Delete sessions that have had no new event for a number of days. This cannot be undone. On a terminal it asks first.",
  options: {
    days: { takes: "DAYS", about: "How many days sessions are kept after their last event" },
    tenant: { takes: "NAME", about: "The tenant whose sessions are deleted (default: default)" },
    "with-running": { about: "Also sessions that run or wait for somebody" },
    "dry-run": { short: "n", about: "Only show which sessions would be deleted" },
    yes: YES_OPTION,
    json: JSON_OPTION,
  },
  examples: ["skein sessions prune --days 90 --dry-run", "skein sessions prune --days 90 --tenant acme --yes"],
  run: (call) =>
    withStore(call, async (store) => {
      const { days, tenant = "default", yes, json } = call.values;
      const kept = Number(days);
      if (days === undefined || !(kept > 0)) throw new UsageError("--days takes a number of days above 0.");
      const before = new Date(Date.now() - kept * DAY_MS).toISOString();
      const expired = expiredSessions(store, { tenant, before, withBusy: call.values["with-running"] ?? false });
      const found: { readonly id: string; readonly updated_at: string }[] = [];
      for await (const { id, updated_at } of expired) found.push({ id, updated_at });
      const what = counted(found.length, "session");
      const isDry = call.values["dry-run"] ?? false;
      const refusal = `${what} of ${tenant} would be deleted: add --yes to delete them.`;
      if (!isDry && !yes && found.length > 0 && !(await isConfirmed(`Delete ${what} of ${tenant}?`, refusal))) {
        call.screen.note("Nothing was deleted.\n");
        return EXIT.cancelled;
      }
      const sessions = createSessions({ store, tenant, forget: forgetIn(call, store) });
      for (const { id, updated_at } of found) {
        if (!isDry) await sessions.delete(id);
        if (json) call.screen.json({ session_id: id, last_event_at: updated_at, deleted: !isDry });
        else call.screen.out(`${id}  ${updated_at}\n`);
      }
      if (!json) call.screen.note(isDry ? `${what} would be deleted.\n` : `Deleted ${what}.\n`);
      return EXIT.completed;
    }),
});
