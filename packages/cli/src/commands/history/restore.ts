import { restoreSession } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { styledText } from "../../terminal/styled.ts";
import { counted } from "../../terminal/counts.ts";
import { archiveFolder } from "./with-archived.ts";

export const restore = historyCommand({
  name: "history restore",
  summary: "Restore an archived session into Claude Code's data directory",
  shares: ["root", "json"],
  isLive: true,
  words: "SESSION",
  examples: [
    ["skein history restore 3f2a", "Back into the data directory it came from"],
    ["skein history restore 3f2a --root ~/.claude-work", "Into another data directory"],
  ],
  async run({ screen, values, words, config }) {
    const [id = ""] = words;
    const roots = values.root ?? [];
    if (roots.length > 1) throw new UsageError("Give only one --root: a session is restored into one data directory.");
    const [root] = roots;
    const result = await restoreSession(id, {
      archiveFolder: archiveFolder(config),
      ...(root === undefined ? {} : { root }),
    });
    if (values.json) await screen.json(result);
    else {
      const { paint } = screen;
      await screen.print(
        styledText`${result.sessionId}: ${counted(result.restored.length, "file")} restored, ${counted(result.present.length, "file")} already present`,
        ...result.conflicts.map((path) =>
          paint.red(styledText`${path} exists and differs from the archive; it was not changed.`),
        ),
      );
    }
    if (result.conflicts.length === 0) return EXIT.completed;
    return result.restored.length === 0 ? EXIT.io : EXIT.failed;
  },
});
