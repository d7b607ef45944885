import { readConfig } from "skein/config";
import { type Command, asksFor, parse } from "./command.ts";
import { CommandError, EXIT } from "./exit-codes.ts";
import { type Screen, createScreen } from "./screen.ts";
import { visible, visibleJson } from "./visible-text.ts";

/**
 * Runs a command, and returns its exit code. If it fails for a known reason, the reason is printed to stderr without a
 * stack trace.
 */
export async function runCommand(command: Command, args: readonly string[]): Promise<number> {
  let made: Screen | undefined;
  try {
    if (asksFor("help", args)) {
      const { helpOf } = await import("./help.ts");
      const screen = createScreen();
      screen.out(helpOf(command, screen.helpColumns));
      return EXIT.completed;
    }
    return await command.run({
      ...parse(command, args),
      config: readConfig(),
      // The screen is created on first use, because some commands create a `StyledScreen` instead.
      get screen() {
        made ??= createScreen();
        return made;
      },
    });
  } catch (error) {
    return reportFailure(error, { name: command.name, isJson: asksFor("json", args) });
  }
}

const CODES: Readonly<Record<number, string>> = {
  [EXIT.failed]: "FAILED",
  [EXIT.usage]: "USAGE_ERROR",
  [EXIT.notFound]: "NOT_FOUND",
  [EXIT.io]: "IO_ERROR",
  [EXIT.cancelled]: "INTERRUPTED",
};

/**
 * Prints why a command failed, and returns the exit code. An error that `failureOf` does not know is a bug, and is
 * thrown again.
 */
export async function reportFailure(
  error: unknown,
  { name, isJson }: { readonly name: string; readonly isJson: boolean },
): Promise<number> {
  const failure = error instanceof CommandError ? error : (await import("./failure.ts")).failureOf(error);
  if (!failure) throw error;
  const { exitCode, message } = failure;
  const whole = name === "" ? "skein" : `skein ${name}`;
  const hint = error instanceof CommandError && exitCode === EXIT.usage ? ` See "${whole} --help".` : "";
  process.stderr.write(
    isJson ? `${visibleJson({ error: { code: CODES[exitCode], message } })}\n` : `${visible(message)}${hint}\n`,
  );
  return exitCode;
}
