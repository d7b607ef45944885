import { isDataNotFoundError, isSessionNotFoundError } from "@skein/history";
import { KnownError } from "@skein/protocol";
import { adopt as adoptSession } from "../adopt/adopt.ts";
import { readClaudeSession } from "../adopt/claude-session.ts";
import { EXIT } from "../terminal/exit.ts";
import {
  JSON_OPTION,
  STORE_OPTION,
  type SessionCommand,
  runCommand,
  text,
  withSessions,
  wordsOf,
} from "../terminal/session-command.ts";
import { visibleLine } from "../terminal/visible.ts";

const command: SessionCommand = {
  name: "adopt",
  words: "SESSION",
  summary:
    "Make a session of Claude Code one of Skein's, under the same id. SESSION is its index or id as `skein history list` shows it.",
  options: [
    ["root", "DIR", "Claude Code's data directory (default: CLAUDE_CONFIG_DIR or ~/.claude)"],
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: ["skein adopt 0", "skein adopt 3f2a91c4", "skein adopt 0 --root ./backup/.claude --json"],
  run: (call) =>
    withSessions(call, async (_sessions, store) => {
      const [word = ""] = wordsOf(call, "SESSION");
      const root = text(call.values, "root");
      const done = call.screen.progress("Reading the session");
      const session = await readClaudeSession(/^\d{1,6}$/.test(word) ? Number(word) : word, {
        ...(root !== undefined && { dataPath: root }),
      })
        .catch((error: unknown) => {
          if (!isSessionNotFoundError(error) && !isDataNotFoundError(error)) throw error;
          throw new KnownError("not_found", error.message);
        })
        .finally(done);
      const adopted = await adoptSession(session, { store, tenant: "default" });
      if (call.values["json"] === true) call.screen.json(adopted);
      else {
        call.screen.out(`${adopted.id}\n`);
        const { total_runs: runs, title } = adopted;
        call.screen.note(
          `${runs} ${runs === 1 ? "run" : "runs"} in ${session.lines.length} lines${title === null ? "" : `: ${visibleLine(title)}`}\n`,
        );
      }
      return EXIT.completed;
    }),
};

/** `skein adopt`. */
export function adopt(args: readonly string[]): Promise<number> {
  return runCommand(command, args);
}
