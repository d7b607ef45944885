import { chmodSync, closeSync, openSync, writeSync } from "node:fs";
import type { Event } from "@skein/protocol";
import { EXIT, UsageError } from "../../terminal/exit-codes.ts";
import type { Screen } from "../../terminal/screen.ts";
import { sessionCommand, withSession } from "../../terminal/session-command.ts";
import { visibleLine } from "../../terminal/visible.ts";

export const exportCommand = sessionCommand({
  name: "sessions export",
  words: "SESSION [DIR]",
  summary:
    "Write the events of a session as JSON lines: everything that Skein knows of it. With --claude-code, write the files from which Claude Code resumes it.",
  options: {
    out: { takes: "FILE", about: "A new file that only you can read, instead of stdout" },
    "claude-code": { about: "Claude Code's own files, into DIR (default: CLAUDE_CONFIG_DIR or ~/.claude)" },
  },
  examples: [
    "skein sessions export 0199c8f1 > session.jsonl",
    "skein sessions export 0199c8f1 --out session.jsonl",
    "skein sessions export 0199c8f1 --claude-code",
    "skein sessions export 0199c8f1 --claude-code ./elsewhere/.claude",
  ],
  run: (call) =>
    withSession(call, async ({ sessions, id }) => {
      const { out: file, "claude-code": forClaude } = call.values;
      const [, folder] = call.words;
      if (folder !== undefined && !forClaude)
        throw new UsageError("A folder is for --claude-code. --out FILE writes the events to a file.");
      if (forClaude && file !== undefined)
        throw new UsageError("--claude-code writes several files: give a folder instead of --out.");
      const done = call.screen.progress("Reading the events");
      const events = await sessions.events(id).finally(done);
      if (forClaude) return writeForClaude(call.screen, { id, events, folder });
      if (file === undefined) {
        for (const event of events) call.screen.json(event);
        return EXIT.completed;
      }
      writePrivate(file, events);
      call.screen.note(`${events.length} events are in ${visibleLine(file)}.\n`);
      return EXIT.completed;
    }),
});

async function writeForClaude(
  screen: Screen,
  { id, events, folder }: { id: string; events: readonly Event[]; folder: string | undefined },
): Promise<number> {
  const { claudeFiles, writeClaudeFiles } = await import("skein/adopt");
  const { getDefaultDataPath } = await import("@skein/history");
  for (const path of writeClaudeFiles(claudeFiles(id, events), folder ?? getDefaultDataPath()))
    screen.out(`${visibleLine(path)}\n`);
  screen.note(`In its folder: claude --resume ${id}\n`);
  return EXIT.completed;
}

/** A transcript may hold secrets: nobody else may read it, and no file is overwritten. */
function writePrivate(file: string, events: readonly Event[]): void {
  const handle = openSync(file, "wx", 0o600);
  try {
    for (const event of events) writeSync(handle, `${JSON.stringify(event)}\n`);
  } finally {
    closeSync(handle);
  }
  chmodSync(file, 0o600);
}
