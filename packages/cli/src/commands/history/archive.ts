import { archive } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { bringIndexUpToDate } from "./search.ts";
import { styledText } from "../../terminal/styled.ts";
import { counted } from "../../terminal/counts.ts";
import { size } from "../../terminal/times.ts";
import { archiveFolder } from "./with-archived.ts";

export const archiveCommand = historyCommand({
  name: "history archive",
  summary: "Copy every session into Skein's archive, before its agent deletes it",
  shares: ["root", "source", "project", "since", "until", "json", "cache"],
  isLive: true,
  examples: [
    ["skein history archive", "Copy what is new; run this daily, for example from cron"],
    ["skein history archive --root ~/.claude-work", "Another data directory, into the same archive"],
  ],
  async run({ screen, values, library, config }) {
    const result = await archive({
      ...library,
      archiveFolder: archiveFolder(config),
      onProgress: (done, total) => {
        if (done % 20 === 0) screen.progress(styledText`Archiving: ${done} of ${total} files`);
      },
    });
    screen.progress(undefined);
    // The operating system still has all files in memory, so building the index is fast now.
    if (library.cacheFolder !== null) await bringIndexUpToDate(library, screen);
    if (values.json) await screen.json(result);
    else {
      await screen.print(
        ...result.failed.map(({ path, reason }) => screen.paint.red(styledText`${path}: ${reason}`)),
        styledText`${counted(result.files, "file")}: ${size(result.newBytes)} new in ${counted(result.changedFiles, "file")}, kept in ${archiveFolder(config)}`,
      );
    }
    return result.failed.length === 0 ? EXIT.completed : EXIT.failed;
  },
});
