import type { Event } from "@skein/protocol";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import type { Screen } from "../../terminal/screen.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { OUTPUT_OPTIONS } from "../../terminal/shared-options.ts";
import { createPrivateFile } from "../../terminal/private-file.ts";
import { visibleLine } from "../../terminal/visible-text.ts";

export const exportCommand = sessionCommand({
  name: "sessions export",
  words: "SESSION [FOLDER]",
  summary:
    "Write all events of a session as JSON lines. With --claude-code, write files from which Claude Code resumes the session.",
  options: {
    ...OUTPUT_OPTIONS,
    "claude-code": { about: "Write Claude Code's files into FOLDER (default: CLAUDE_CONFIG_DIR or ~/.claude)" },
  },
  examples: [
    "skein sessions export 0199c8f1 > session.jsonl",
    "skein sessions export 0199c8f1 --output session.jsonl",
    "skein sessions export 0199c8f1 --claude-code",
    "skein sessions export 0199c8f1 --claude-code ./elsewhere/.claude",
  ],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { output: file, force, "claude-code": forClaude } = call.values;
      const [, folder] = call.words;
      if (folder !== undefined && !forClaude)
        throw new UsageError("A folder is for --claude-code. --output FILE writes the events to a file.");
      if (forClaude && file !== undefined)
        throw new UsageError("--claude-code writes several files: give a folder instead of --output.");
      const done = call.screen.progress("Reading the events");
      const events = await sessions.events(id).finally(done);
      if (forClaude) return writeForClaude(call.screen, { id, events, folder });
      if (file === undefined) {
        for (const event of events) call.screen.json(event);
        return EXIT.completed;
      }
      createPrivateFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join(""), force);
      call.screen.note(`${events.length} events are in ${visibleLine(file)}.\n`);
      return EXIT.completed;
    }),
});

async function writeForClaude(
  screen: Screen,
  { id, events, folder }: { id: string; events: readonly Event[]; folder: string | undefined },
): Promise<number> {
  const { claudeFiles, writeClaudeFiles } = await import("@skein/adapters/runtimes/claude-code/adopt");
  const { getDefaultDataPath } = await import("@skein/history");
  for (const path of writeClaudeFiles(claudeFiles(id, events), folder ?? getDefaultDataPath()))
    screen.out(`${visibleLine(path)}\n`);
  screen.note(`In the session's folder: claude --resume ${id}\n`);
  return EXIT.completed;
}
