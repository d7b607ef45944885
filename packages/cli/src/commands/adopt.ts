import { adopt as adoptSession, readClaudeSession } from "@skein/adapters/runtimes/claude-code/adopt";
import { getSession } from "@skein/history";
import { counted } from "../terminal/counts.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { storeCommand, withNewStore } from "../terminal/session-command.ts";
import { JSON_OPTION, ROOT_OPTION } from "../terminal/shared-options.ts";
import { visibleLine } from "../terminal/visible-text.ts";
import { toCommandError } from "./history/errors.ts";

/** `skein adopt`. */
export const adopt = storeCommand({
  name: "adopt",
  words: "SESSION",
  summary:
    "Copy a session of Claude Code into Skein, with the same id. SESSION is its index or id from `skein history list`.",
  options: {
    root: ROOT_OPTION,
    json: JSON_OPTION,
  },
  examples: ["skein adopt 0", "skein adopt 3f2a91c4", "skein adopt 0 --root ./backup/.claude --json"],
  run: (call) =>
    withNewStore(call, async (store) => {
      const { values, screen, words } = call;
      const [word = ""] = words;
      const done = screen.progress("Reading the session");
      const session = await getSession(/^\d{1,6}$/.test(word) ? Number(word) : word, {
        ...(values.root !== undefined && { dataPath: values.root }),
      })
        .then(readClaudeSession)
        .catch((error: unknown) => {
          throw toCommandError(error);
        })
        .finally(done);
      const adopted = await adoptSession(session, { store, tenant: "default" });
      if (values.json) screen.json(adopted);
      else {
        screen.out(`${adopted.id}\n`);
        const { total_runs: runs, title } = adopted;
        screen.note(
          `${counted(runs, "run")} in ${session.lines.length} lines${title === null ? "" : `: ${visibleLine(title)}`}\n`,
        );
      }
      return EXIT.completed;
    }),
});
