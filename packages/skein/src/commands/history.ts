import { readConfig } from "../config.ts";
import { type HistoryCommand, helpOf, libraryConfig, parseCall } from "./history/command.ts";
import { EXIT, failureOf } from "./history/exit.ts";
import { createScreen } from "./history/screen.ts";
import { safeJson, t } from "./history/styled.ts";
import { withArchived } from "./history/with-archived.ts";

/** Every command of `skein history`, loaded when it is called. */
const commands: Readonly<Record<string, () => Promise<HistoryCommand>>> = {
  list: async () => (await import("./history/list.ts")).list,
  show: async () => (await import("./history/show.ts")).show,
  search: async () => (await import("./history/search.ts")).search,
  usage: async () => (await import("./history/usage.ts")).usage,
  export: async () => (await import("./history/export.ts")).exportCommand,
  files: async () => (await import("./history/files.ts")).files,
  plans: async () => (await import("./history/plans.ts")).plans,
  todos: async () => (await import("./history/todos.ts")).todos,
  migrate: async () => (await import("./history/migrate.ts")).migrate,
  undo: async () => (await import("./history/undo.ts")).undo,
  archive: async () => (await import("./history/archive.ts")).archiveCommand,
  restore: async () => (await import("./history/restore.ts")).restore,
  watch: async () => (await import("./history/watch.ts")).watchCommand,
  verify: async () => (await import("./history/verify.ts")).verifyCommand,
  doctor: async () => (await import("./history/doctor.ts")).doctorCommand,
};

/** `skein history`: Claude Code's sessions. Everything but `migrate`, `undo` and `restore` only reads them. */
export async function history(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(await overview());
    return EXIT.ok;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!load) {
    process.stderr.write(
      t`skein history has no command "${name}". "skein history --help" lists the ones it has.`.text + "\n",
    );
    return EXIT.usage;
  }
  return await runCommand(name, await load(), rest);
}

/** Commands that are about what Claude Code has now. */
const liveOnly: ReadonlySet<string> = new Set(["migrate", "undo", "archive", "restore", "watch"]);

async function runCommand(name: string, command: HistoryCommand, args: readonly string[]): Promise<number> {
  const interrupt = new AbortController();
  const stop = (): void => interrupt.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    const { values, words } = parseCall(command, args);
    if (values.help) {
      process.stdout.write(helpOf(name, command));
      return EXIT.ok;
    }
    const config = readConfig();
    const usesPager = command.usesPager && values.json !== true && values.pager !== false;
    const screen = createScreen({ env: process.env, usesPager });
    try {
      const plain = libraryConfig(values, interrupt.signal);
      const readsArchive = values.archive !== false && !liveOnly.has(name);
      const library = readsArchive ? await withArchived(plain, config, screen) : plain;
      const call = { screen, values, words, library, config, signal: interrupt.signal };
      return await command.run(call as Parameters<HistoryCommand["run"]>[0]);
    } finally {
      await screen.close();
    }
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    const { code, message } = failure;
    const isJson = args.includes("--json");
    process.stderr.write(isJson ? `${safeJson({ error: { code, message } })}\n` : `${t`${message}`.text}\n`);
    return failure.exitCode;
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}

async function overview(): Promise<string> {
  const width = Math.max(...Object.keys(commands).map(({ length }) => length));
  const lines: string[] = [];
  for (const [name, load] of Object.entries(commands)) lines.push(`  ${name.padEnd(width)}  ${(await load()).summary}`);
  return `skein history: Claude Code's sessions: find, read, price, export, move and keep them

Usage: skein history <command> [options]

Commands:
${lines.join("\n")}

"skein history <command> --help" explains one. Only migrate, undo and restore write to Claude Code's data directory.

Examples:
  skein history list                          The newest sessions
  skein history search "flaky test" --since 7d  Where it was talked about
  skein history show 0                        Read the newest session
  skein history usage                         Tokens and cost by day and model
`;
}
