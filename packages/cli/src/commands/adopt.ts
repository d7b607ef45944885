import { adopt as adoptSession, readClaudeSession } from "@skein/adapters/runtimes/claude-code/adopt";
import { getSession, withArchive, withCarried, withSources } from "@skein/history";
import { agentTitles } from "@skein/history/sources";
import { counted } from "../terminal/counts.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { storeCommand, withNewStore } from "../terminal/session-command.ts";
import { JSON_OPTION, ROOT_OPTION, SOURCE_OPTION } from "../terminal/shared-options.ts";
import { visibleLine } from "../terminal/visible-text.ts";
import { toCommandError } from "./history/errors.ts";
import { archiveFolder } from "./history/with-archived.ts";
import type { SourceNames } from "./history/with-agents.ts";

/** `skein adopt`: makes a session of Skein from a session of Claude Code or another agent. */
export const adopt = storeCommand({
  name: "adopt",
  words: "SESSION",
  summary:
    "Copy a session of Claude Code or of another agent into Skein. SESSION is its index or id from `skein history list`.",
  options: {
    root: ROOT_OPTION,
    source: SOURCE_OPTION,
    "dry-run": { short: "n", about: "Copy nothing, and list what a copy would leave out" },
    json: JSON_OPTION,
  },
  examples: [
    "skein adopt 0",
    "skein adopt 3f2a91c4",
    "skein adopt ses_4a1f --source opencode --dry-run",
    "skein adopt 0 --root ./backup/.claude --json",
  ],
  notes:
    "A session whose id is a UUID keeps its id. Any other session gets a UUID made from its id, the same each time. `skein sessions export ID --claude-code` then lets Claude Code continue it.",
  run: async (call) => {
    const { values, screen, words } = call;
    const [word = ""] = words;
    const done = screen.progress("Reading the session");
    const found = await readSession(word, values, archiveFolder(call.config)).finally(done);
    return withCarried(found, async ({ session, left }) => {
      if (found.source !== "claude-code" && !values.json)
        screen.note(`A session of ${agentTitles[found.source]}. Not copied: ${listed(left)}\n`);
      if (values["dry-run"]) {
        if (values.json) screen.json({ id: session.id, source: found.source, left });
        return EXIT.completed;
      }
      return withNewStore(call, async (store) => {
        const claude = readClaudeSession(session);
        const adopted = await adoptSession(claude, { store, tenant: "default" });
        if (values.json) screen.json(left.length === 0 ? adopted : { ...adopted, left });
        else {
          screen.out(`${adopted.id}\n`);
          const { total_runs: runs, title } = adopted;
          const about = title === null ? "" : `: ${visibleLine(title)}`;
          screen.note(`${counted(runs, "run")} in ${claude.lines.length} lines${about}\n`);
        }
        return EXIT.completed;
      });
    });
  },
});

async function readSession(
  word: string,
  { root, source }: { readonly root: readonly string[] | undefined; readonly source: SourceNames },
  archive: string,
) {
  try {
    const given = root !== undefined && { dataPath: root };
    const { config } = await withSources({ ...given, sources: source, lines: "as-needed" });
    // The archive may have a session that its agent has deleted.
    const library = await withArchive({ ...config, archiveFolder: archive });
    return await getSession(/^\d{1,6}$/.test(word) ? Number(word) : word, library);
  } catch (error) {
    throw toCommandError(error, root === undefined && source === undefined);
  }
}

function listed(left: readonly { readonly what: string; readonly count: number }[]): string {
  return left.length === 0 ? "nothing" : left.map(({ what, count }) => `${count} ${visibleLine(what)}`).join(", ");
}
