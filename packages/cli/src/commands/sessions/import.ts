import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import { readInput } from "../../terminal/read-input.ts";
import { sessionCommand, withNewSessions } from "../../terminal/session-command.ts";
import { JSON_OPTION } from "../../terminal/shared-options.ts";

export const importCommand = sessionCommand({
  name: "sessions import",
  words: "FILE",
  summary: "Create a session from an export: a file of `sessions export`, or the answer of the server's export route.",
  options: { json: JSON_OPTION },
  examples: ["skein sessions import session.jsonl", "skein sessions export 0199c8f1 | skein sessions import -"],
  async run(call) {
    const [file = ""] = call.words;
    const events = await exportedEvents(file).finally(call.screen.progress("Reading the events"));
    return withNewSessions(call, async ({ sessions }) => {
      const imported = await sessions.import(events).finally(call.screen.progress("Writing the events"));
      if (call.values.json) call.screen.json(imported);
      else call.screen.out(`${imported.id}\n`);
      return EXIT.completed;
    });
  },
});

/**
 * Reads the events of a file or of stdin (`-`). The file has one event per line, or is a server's export in one
 * document.
 */
async function exportedEvents(file: string): Promise<readonly unknown[]> {
  const values = (await readInput(file))
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [jsonLine(line, `line ${index + 1} of ${file}`)]));
  const [first] = values;
  return values.length === 1 && isDocument(first) ? first.events : values;
}

function jsonLine(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new UsageError(`${place} is not JSON. Expected a file that "skein sessions export" wrote.`);
  }
}

function isDocument(value: unknown): value is { readonly events: readonly unknown[] } {
  return typeof value === "object" && value !== null && "events" in value && Array.isArray(value.events);
}
