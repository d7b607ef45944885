import { readFileSync } from "node:fs";
import type { Group } from "./terminal/command.ts";
import { runGroup } from "./terminal/command-group.ts";
import { createScreen } from "./terminal/screen.ts";

/**
 * Every command, in the order of the help. The file of a command is loaded only when the command is called, so that
 * `skein --help` is fast.
 */
export const skein: Group = {
  name: "",
  summary: "run AI agents, and find what they did",
  commands: [
    {
      name: "serve",
      summary: "Start the server on 127.0.0.1:7433: HTTP API and console",
      load: async () => (await import("./commands/serve.ts")).serve,
    },
    {
      name: "keys",
      summary: "Make, list and revoke the API keys of a server",
      load: async () => (await import("./commands/keys.ts")).keys,
    },
    {
      name: "models",
      summary: "Add, list and test models of other providers",
      load: async () => (await import("./commands/models.ts")).models,
    },
    {
      name: "policy",
      summary: "Say in plain words what a key can do",
      load: async () => (await import("./commands/policy.ts")).policy,
    },
    {
      name: "doctor",
      summary: "Check everything that a server needs, and say what to do",
      load: async () => (await import("./commands/doctor.ts")).doctor,
    },
    {
      name: "files",
      summary: "Find and delete files of sessions that no longer exist",
      load: async () => (await import("./commands/files.ts")).files,
    },
    {
      name: "restate",
      summary: "Register, list and drain the workers of a Restate cluster",
      load: async () => (await import("./commands/restate.ts")).restate,
    },
    {
      name: "run",
      summary: "Run one prompt and show it as it happens",
      load: async () => (await import("./commands/run.ts")).run,
    },
    {
      name: "chat",
      summary: "Chat with an agent, and answer its questions",
      load: async () => (await import("./commands/chat.ts")).chat,
    },
    {
      name: "sessions",
      summary: "List, show, follow, answer, fork, cancel, export and delete sessions",
      load: async () => (await import("./commands/sessions.ts")).sessions,
    },
    {
      name: "runs",
      summary: "Show the runs of a session, and the log of a run",
      load: async () => (await import("./commands/runs.ts")).runs,
    },
    {
      name: "adopt",
      summary: "Copy a session of Claude Code or another coding agent into Skein",
      load: async () => (await import("./commands/adopt.ts")).adopt,
    },
    {
      name: "backup",
      summary: "Back up a store into a new folder, even while servers use the store",
      load: async () => (await import("./commands/backup.ts")).backup,
    },
    {
      name: "restore",
      summary: "Restore a backup into a new or empty store",
      load: async () => (await import("./commands/backup.ts")).restore,
    },
    {
      name: "move",
      summary: "Copy everything from one store to another, such as sqlite to PostgreSQL",
      load: async () => (await import("./commands/move.ts")).move,
    },
    {
      name: "history",
      summary: "Sessions of Claude Code, Codex and 12 other coding agents: find, read, price, export",
      load: async () => (await import("./commands/history.ts")).history,
    },
    {
      name: "sql",
      summary: "Query the sessions of coding agents and of Skein in SQL",
      load: async () => (await import("./commands/sql.ts")).sql,
    },
    {
      name: "mcp",
      summary: "Let Claude Code search past sessions, over MCP",
      load: async () => (await import("./commands/mcp.ts")).mcp,
    },
    {
      name: "completion",
      summary: "Print a completion script for bash, zsh or fish",
      load: async () => (await import("./commands/completion.ts")).completionOf(() => skein),
    },
  ],
  examples: [
    ["skein serve", "The platform API on 127.0.0.1:7433"],
    ['skein run "How much is 2+2?"', "One prompt, with a simulated model unless ANTHROPIC_API_KEY is set"],
    ["skein history list", "The sessions of coding agents on this machine"],
  ],
  notes: '"skein --version" prints the version.',
};

/** Runs the command line and returns the exit code. Never throws because of a mistake of the caller. */
export async function main(argv: readonly string[]): Promise<number> {
  // If stderr is closed, errors cannot be reported.
  process.stderr.on("error", () => {});
  if (argv[0] !== "--version" && argv[0] !== "-V") return runGroup(skein, serverLast(argv));
  createScreen().out(`${version()}\n`);
  return 0;
}

/** `skein --server URL sessions list` means `skein sessions list --server URL`. */
function serverLast(argv: readonly string[]): readonly string[] {
  const [word = ""] = argv;
  const length = word === "--server" ? 2 : word.startsWith("--server=") ? 1 : 0;
  const rest = argv.slice(length);
  const end = rest.indexOf("--");
  return end < 0 ? [...rest, ...argv.slice(0, length)] : rest.toSpliced(end, 0, ...argv.slice(0, length));
}

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
