import { type Group, asksFor } from "./command.ts";
import { EXIT, UsageError } from "./exit-codes.ts";
import { overviewOf } from "./help.ts";
import { nearestName } from "@skein/protocol/nearest-name";
import { runCommand, reportFailure } from "./run-command.ts";
import { createScreen } from "./screen.ts";

/** Runs the command of a group that the first word selects. */
export async function runGroup(group: Group, args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  if (word === "help" && rest.length > 0) return runGroup(group, [...rest, "--help"]);
  if (word === undefined || word === "help" || word === "--help" || word === "-h") {
    const screen = createScreen();
    screen.out(overviewOf(group, await summaries(group), screen.helpColumns));
    return EXIT.completed;
  }
  const found = group.commands.find(({ name }) => lastWord(name) === word);
  if (!found) return reportFailure(unknown(group, word), { name: group.name, isJson: asksFor("json", args) });
  const command = "load" in found ? await found.load() : found;
  return "commands" in command ? runGroup(command, rest) : runCommand(command, rest);
}

function unknown({ name, commands }: Group, word: string): UsageError {
  const whole = name === "" ? "skein" : `skein ${name}`;
  if (word.startsWith("-")) return new UsageError(`${whole} takes a command first, and then options such as ${word}.`);
  const near = nearestName(
    word,
    commands.map((command) => lastWord(command.name)),
  );
  return new UsageError(`${whole} has no command "${word}".${near === undefined ? "" : ` Did you mean "${near}"?`}`);
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(" ") + 1);
}

function summaries({ commands }: Group): Promise<(readonly [string, string])[]> {
  return Promise.all(
    commands.map(async (command) => {
      const summary = command.summary ?? ("load" in command ? (await command.load()).summary : "");
      // The overview shows only the first sentence. The help of the command shows all sentences.
      return [lastWord(command.name), /^.+?\.(?= |$)/s.exec(summary)?.[0] ?? summary] as const;
    }),
  );
}
