import {
  migrateSession,
  migrateWorkspace,
  type LibraryConfig,
  type MigrateOptions,
  type MigrateResult,
} from "@skein/history";
import { join } from "node:path";
import type { Config } from "skein/config";
import { historyCommand } from "./command.ts";
import { isConfirmed } from "../../terminal/confirm.ts";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { YES_OPTION } from "../../terminal/shared-options.ts";
import { SESSION_OPTIONS, absolute, sessionWord } from "./options.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Styled, styledText } from "../../terminal/styled.ts";
import { table } from "../../terminal/table.ts";
import { count, counted } from "../../terminal/counts.ts";
import { size } from "../../terminal/times.ts";

export const migrate = historyCommand({
  name: "history migrate",
  summary: "Copy or move sessions, or all sessions of a project, to another project path",
  shares: SESSION_OPTIONS,
  isLive: true,
  words: "[SESSION…]",
  options: {
    to: { takes: "PATH", short: "t", about: "The new project path of the sessions" },
    from: { takes: "PATH", about: "All sessions of this project, with its memory and settings" },
    move: { short: "m", about: "Move the sessions instead of copying them" },
    "to-root": { takes: "FOLDER", about: "Into another data directory" },
    "dry-run": { short: "n", about: "Only show the plan" },
    yes: YES_OPTION,
  },
  examples: [
    ["skein history migrate --from ~/old --to ~/new --move", "The project was renamed"],
    ["skein history migrate 3f2a --to ~/other --dry-run", "What copying one session would do"],
    ["skein history migrate 3f2a 9b1c --to . --yes", "Copy two sessions to this project"],
    ["skein history undo", "Revert the last migration"],
  ],
  async run({ screen, values, words, library, config }) {
    if (values.to === undefined) throw new UsageError("Where to? Give --to PATH.");
    if ((values.from === undefined) === (words.length === 0)) {
      throw new UsageError("Give the sessions, or --from PATH for all sessions of a project.");
    }
    const mode = values.move ? "move" : "copy";
    const destination = absolute(values.to);
    // Migrates only sessions of live data directories. The archive is a copy and stays as it is.
    const options: LibraryConfig & MigrateOptions = {
      ...library,
      journalFolder: migrationsFolder(config),
      ...(values["to-root"] === undefined ? {} : { destinationRoot: values["to-root"] }),
      onProgress: (done, total) => screen.progress(styledText`${done} of ${total}`),
    };
    const { from } = values;
    const run = async (dryRun: boolean): Promise<MigrateResult> =>
      from === undefined
        ? await migrateSession({ sessions: words.map(sessionWord), destination, mode }, { ...options, dryRun })
        : await migrateWorkspace({ source: absolute(from), destination, mode }, { ...options, dryRun });
    const isDry = values["dry-run"];
    if (!values.json || isDry) {
      const plan = await run(true);
      screen.progress(undefined);
      if (isDry && values.json) await screen.json(plan);
      else await screen.print(...planLines(plan, { mode, destination }, screen));
      if (isDry || plan.successCount === 0) return codeOf(plan);
    }
    if (!values.yes && !(await mayBegin(screen, mode))) return EXIT.cancelled;
    const result = await run(false);
    screen.progress(undefined);
    if (values.json) await screen.json(result);
    else await screen.print(...resultLines(result, mode, screen));
    return codeOf(result);
  },
});

export function migrationsFolder(config: Config): string {
  return join(config.dataDir, "migrations");
}

function codeOf({ successCount, failedCount }: MigrateResult): number {
  if (failedCount === 0) return EXIT.completed;
  return successCount === 0 ? EXIT.io : EXIT.failed;
}

async function mayBegin(screen: StyledScreen, mode: "copy" | "move"): Promise<boolean> {
  const isYes = await isConfirmed(
    `${mode === "move" ? "Move" : "Copy"} them?`,
    `Nothing was changed: add --yes to ${mode} them, or --dry-run to only see the plan.`,
  );
  if (!isYes) screen.note(styledText`Nothing was changed.`);
  return isYes;
}

function planLines(
  plan: MigrateResult,
  { mode, destination }: { mode: string; destination: string },
  { paint }: StyledScreen,
): readonly Styled[] {
  const rows = plan.sessions.map(({ sessionId, from, files, bytes, rewrittenPaths }) => [
    paint.cyan(sessionId.slice(0, 8)),
    from,
    String(files),
    size(bytes),
    count(rewrittenPaths),
  ]);
  return [
    styledText`Plan: ${mode} ${counted(plan.successCount, "session")} to ${paint.bold(destination)}`,
    ...(rows.length === 0
      ? []
      : table(
          [
            { title: "ID" },
            { title: "FROM" },
            { title: "FILES", align: "right" },
            { title: "SIZE", align: "right" },
            { title: "PATHS", align: "right" },
          ],
          rows,
        )),
    ...remarks(plan, paint.red),
  ];
}

function resultLines(result: MigrateResult, mode: "copy" | "move", { paint }: StyledScreen): readonly Styled[] {
  return [
    paint.green(styledText`${mode === "move" ? "Moved" : "Copied"} ${counted(result.successCount, "session")}.`),
    ...(result.finishedBefore > 0
      ? [styledText`Finished ${counted(result.finishedBefore, "session")} of a migration that was interrupted.`]
      : []),
    ...remarks(result, paint.red),
    ...(result.migrationId === null
      ? []
      : [paint.dim(styledText`skein history undo ${result.migrationId} reverts this migration.`)]),
  ];
}

function remarks({ errors, notes }: MigrateResult, red: (text: Styled) => Styled): readonly Styled[] {
  return [
    ...errors.map(({ sessionId, code, message }) => red(styledText`${sessionId}: ${message} (${code})`)),
    ...notes.map((note) => styledText`${note}`),
  ];
}
