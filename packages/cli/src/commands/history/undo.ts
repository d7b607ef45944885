import { listMigrations, undoMigration } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { migrationsFolder } from "./migrate.ts";
import { YES_OPTION } from "../../terminal/shared-options.ts";
import { pageOf } from "./page.ts";
import { styledText } from "../../terminal/styled.ts";
import { table } from "../../terminal/table.ts";
import { counted } from "../../terminal/counts.ts";
import { shortTime } from "../../terminal/times.ts";

export const undo = historyCommand({
  name: "history undo",
  summary: "Undo a migration, byte for byte",
  shares: ["root", "limit", "offset", "json"],
  isLive: true,
  words: "[MIGRATION]",
  options: {
    list: { short: "l", about: "Only show the migrations" },
    yes: { ...YES_OPTION, about: "No effect: undo never asks" },
  },
  examples: [
    ["skein history undo", "The last migration"],
    ["skein history undo --list", "All of them"],
  ],
  async run({ screen, values, words, config, library }) {
    const options = { journalFolder: migrationsFolder(config) };
    if (values.list) {
      const page = pageOf(await listMigrations(options), library);
      if (values.json) await screen.json(page);
      else if (page.data.length === 0) await screen.print(styledText`No migrations.`);
      else {
        const rows = page.data.map(({ id, kind, mode, destination, at, sessions, isUndone, isInterrupted }) => [
          shortTime(new Date(at)),
          kind === "undo" ? "undo" : mode,
          String(sessions),
          destination,
          isInterrupted ? "interrupted" : isUndone ? "undone" : "",
          id,
        ]);
        await screen.print(
          ...table(
            [
              { title: "WHEN" },
              { title: "WHAT" },
              { title: "SESSIONS", align: "right" },
              { title: "TO" },
              { title: "" },
              { title: "ID" },
            ],
            rows,
            screen.columns,
          ),
        );
      }
      return EXIT.completed;
    }
    const result = await undoMigration(words[0], options);
    if (values.json) await screen.json(result);
    else {
      await screen.print(
        styledText`Reverted ${counted(result.successCount, "session")} of migration ${result.migrationId}.`,
        ...result.errors.map(({ sessionId, message }) => screen.paint.red(styledText`${sessionId}: ${message}`)),
      );
    }
    return result.failedCount === 0 ? EXIT.completed : result.successCount === 0 ? EXIT.io : EXIT.failed;
  },
});
