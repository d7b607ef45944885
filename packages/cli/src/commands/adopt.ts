import { adopt as adoptSession, readClaudeSession } from "@skein/adapters/runtimes/claude-code/adopt";
import { getSession, withArchive, withCarried, withSources } from "@skein/history";
import type { Session } from "@skein/protocol";
import { agentTitles } from "@skein/history/sources";
import { isConfirmed } from "../terminal/confirm.ts";
import { count, counted } from "../terminal/counts.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { storeCommand, withNewStore } from "../terminal/session-command.ts";
import { JSON_OPTION, ROOT_OPTION, SOURCE_OPTION, YES_OPTION } from "../terminal/shared-options.ts";
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
    yes: YES_OPTION,
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
    "A session whose id is a UUID keeps its id. Any other session gets a UUID that is always the same for its id. A server with the Claude Agent SDK can then continue the session, even a session of another agent; `skein sessions export ID --claude-code` lets Claude Code continue it.",
  run: async (call) => {
    const { values, screen, words } = call;
    const [word = ""] = words;
    const done = screen.progress("Reading the session");
    const found = await readSession(word, values, archiveFolder(call.config)).finally(done);
    return withCarried(found, async ({ session, left }) => {
      if (found.source !== "claude-code" || values["dry-run"])
        screen.note(`A session of ${agentTitles[found.source]}. ${listed(left)}\n`);
      if (values["dry-run"]) {
        if (values.json) screen.json({ id: session.id, source: found.source, left });
        else screen.out(`Would copy ${counted(session.messageCount, "message")}${aboutTitle(session.summary)}\n`);
        return EXIT.completed;
      }
      const asks = left.length > 0 && !values.yes && !values.json && process.stdin.isTTY && process.stderr.isTTY;
      if (asks && !(await isConfirmed("Copy the rest?", ""))) {
        screen.note("Nothing was copied.\n");
        return EXIT.cancelled;
      }
      return withNewStore(call, async (store) => {
        const claude = readClaudeSession(session);
        const adopted = await adoptSession(claude, { store, tenant: "default" });
        if (values.json) screen.json(left.length === 0 ? adopted : { ...adopted, left });
        else {
          screen.out(`${adopted.id}\n`);
          const { total_runs: runs, title } = adopted;
          screen.note(`${counted(runs, "run")} in ${counted(claude.lines.length, "line")}${aboutTitle(title)}\n`);
          screen.note(await nextStep(adopted));
        }
        return EXIT.completed;
      });
    });
  },
});

/** Returns how to continue the session, and what this machine lacks. */
async function nextStep({ id, working_directory: folder }: Session): Promise<string> {
  const { sdkProblem } = await import("skein/serve");
  const where = folder === null ? "" : ` that allows the folder ${visibleLine(folder)}`;
  const roots = JSON.stringify([folder]);
  const missing = sdkProblem();
  return [
    `Claude Code continues the session on a server${where}: skein run "Go on." --session ${id} --server http://127.0.0.1:7433`,
    ...(folder === null
      ? []
      : [`To allow it, put this into skein.config.ts: export default { claude: { roots: ${visibleLine(roots)} } };`]),
    ...(missing === undefined ? [] : [`Missing on this machine: ${missing}`]),
    "",
  ].join("\n");
}

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
  return left.length === 0
    ? "A copy leaves out nothing."
    : `Not copied: ${left.map(({ what, count: times }) => `${count(times)} ${visibleLine(what)}`).join(", ")}`;
}

function aboutTitle(title: string | null): string {
  return title === null ? "" : `: ${visibleLine(title)}`;
}
