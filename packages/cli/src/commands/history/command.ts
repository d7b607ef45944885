import type { LibraryConfig } from "@skein/history";
import { type Call, type Command, type Options, defineCommand } from "../../terminal/command.ts";
import { onStop } from "../../terminal/interrupts.ts";
import { toCommandError } from "./errors.ts";
import { COMMON_OPTIONS, libraryConfig } from "./options.ts";
import { type StyledScreen, createStyledScreen } from "../../terminal/styled-screen.ts";
import { type SourceNames, withAgents } from "./with-agents.ts";
import { withArchived } from "./with-archived.ts";

type Common = typeof COMMON_OPTIONS;

export interface HistoryCall<Given> extends Omit<Call<Given>, "screen"> {
  readonly screen: StyledScreen;
  /** The options of the library: roots, project, times, page. */
  readonly library: LibraryConfig;
  readonly signal: AbortSignal;
  /** Reads new data of coding agents other than Claude Code. */
  refresh(): Promise<LibraryConfig>;
}

/** Defines a command of `skein history` with the common options in `shares`. Ctrl-C stops the command. */
export function historyCommand<const Given extends Options, Shared extends keyof Common = keyof Common>({
  run,
  shares = Object.keys(COMMON_OPTIONS) as Shared[],
  usesPager = false,
  isLive = false,
  lines = "all",
  ...command
}: Omit<Command<Given>, "run"> & {
  /** Which of the common options the command has. Default: all of them. */
  readonly shares?: readonly Shared[];
  readonly usesPager?: boolean;
  /** Whether the command reads only the files of the coding agents, without the archive. */
  readonly isLive?: boolean;
  /**
   * With `as-needed`, a session of a coding agent other than Claude Code is converted only when the command reads its
   * lines. With `all`, all these sessions are converted before the command runs.
   */
  readonly lines?: "all" | "as-needed";
  run(call: HistoryCall<Given & Pick<Common, Shared>>): Promise<number>;
}): Command {
  const names: readonly string[] = shares;
  const common = Object.entries(COMMON_OPTIONS).filter(([name]) => names.includes(name));
  return defineCommand({
    ...command,
    options: { ...command.options, ...Object.fromEntries(common) },
    async run({ values, words, config }) {
      const interrupt = new AbortController();
      const stopListening = onStop(() => interrupt.abort());
      const given = values as unknown as HistoryCall<Given & Pick<Common, Shared>>["values"];
      const screen = createStyledScreen({
        env: process.env,
        usesPager: usesPager && values["json"] !== true && values["pager"] !== false,
      });
      try {
        const plain = libraryConfig(values, interrupt.signal);
        const readsArchive = values["archive"] !== false && !isLive;
        const sources = values["source"] as SourceNames;
        const all = names.includes("source") ? await withAgents(plain, { sources, lines, screen }) : plain;
        const library = readsArchive ? await withArchived(all, config, screen) : all;
        const refresh = (): Promise<LibraryConfig> =>
          names.includes("source") ? withAgents(plain, { sources, lines }) : Promise.resolve(plain);
        return await run({ screen, values: given, words, library, config, signal: interrupt.signal, refresh });
      } catch (error) {
        const isAnywhere = names.includes("source") && values["source"] === undefined && values["root"] === undefined;
        throw toCommandError(error, isAnywhere);
      } finally {
        await screen.close();
        stopListening();
      }
    },
  });
}
