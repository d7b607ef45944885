import type { LibraryConfig } from "@skein/history";
import { type Call, type Command, type Options, defineCommand } from "../../terminal/command.ts";
import { toCommandError } from "./errors.ts";
import { COMMON_OPTIONS, libraryConfig } from "./options.ts";
import { type StyledScreen, createStyledScreen } from "../../terminal/styled-screen.ts";
import { withArchived } from "./with-archived.ts";

export interface HistoryCall<Given> extends Omit<Call<Given & typeof COMMON_OPTIONS>, "screen"> {
  readonly screen: StyledScreen;
  /** What the library takes: roots, project, times, page. */
  readonly library: LibraryConfig;
  readonly signal: AbortSignal;
}

/** One command of `skein history`: it has the options of all of them, and can be stopped. */
export function historyCommand<const Given extends Options>({
  run,
  usesPager = false,
  isLive = false,
  ...command
}: Omit<Command<Given>, "run"> & {
  readonly usesPager?: boolean;
  /** It is about what Claude Code has now, and about nothing that only the archive has. */
  readonly isLive?: boolean;
  run(call: HistoryCall<Given>): Promise<number>;
}): Command {
  return defineCommand({
    ...command,
    options: { ...command.options, ...COMMON_OPTIONS },
    async run({ values, words, config }) {
      const interrupt = new AbortController();
      const stop = (): void => interrupt.abort();
      process.once("SIGINT", stop);
      process.once("SIGTERM", stop);
      const given = values as unknown as HistoryCall<Given>["values"];
      const screen = createStyledScreen({ env: process.env, usesPager: usesPager && !values.json && values.pager });
      try {
        const plain = libraryConfig(values, interrupt.signal);
        const library = values.archive && !isLive ? await withArchived(plain, config, screen) : plain;
        return await run({ screen, values: given, words, library, config, signal: interrupt.signal });
      } catch (error) {
        throw toCommandError(error);
      } finally {
        await screen.close();
        process.off("SIGINT", stop);
        process.off("SIGTERM", stop);
      }
    },
  });
}
