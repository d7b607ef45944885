import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * Like `parseArgs`. If an option is wrong, prints one sentence and ends the process with exit code 2. `command` is what
 * users type after `npm run`.
 */
export function readOptions<const Config extends ParseArgsConfig>(
  command: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")))
      throw error;
    // Node adds advice about arguments that begin with a dash. No command here has such arguments.
    const [problem] = error.message.split(/\. |\n/u);
    console.error(
      `${problem?.replace(/\.$/u, "")}. Options: npm run ${command} ${command.includes("--") ? "" : "-- "}--help`,
    );
    process.exit(2);
  }
}
