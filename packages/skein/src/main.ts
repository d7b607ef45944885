import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** One command of `skein`. Its file is loaded only when it is called, so that `skein --help` stays quick. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Answers the exit code: 0 done, 1 failed, 2 called wrongly. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** Every command, in the order of the help. One file each in `commands/`. */
const COMMANDS: readonly Command[] = [
  {
    name: "serve",
    summary: "Start the platform API on 127.0.0.1:7433: sessions, streams, keys",
    run: async (args) => (await import("./commands/serve.ts")).serve(args),
  },
  {
    name: "keys",
    summary: "Make, list and revoke the API keys of a server",
    run: async (args) => (await import("./commands/keys.ts")).keys(args),
  },
  {
    name: "doctor",
    summary: "Look at everything that a server needs, and say what to do",
    run: async (args) => (await import("./commands/doctor.ts")).doctor(args),
  },
  {
    name: "run",
    summary: "Run one prompt and show it as it happens",
    run: async (args) => (await import("./commands/run.ts")).run(args),
  },
  {
    name: "chat",
    summary: "Talk with an agent, and answer its questions",
    run: async (args) => (await import("./commands/chat.ts")).chat(args),
  },
  {
    name: "sessions",
    summary: "List, show, follow, answer, fork, cancel, export and delete sessions",
    run: async (args) => (await import("./commands/sessions.ts")).sessions(args),
  },
  {
    name: "runs",
    summary: "The runs of a session, and the log of a run",
    run: async (args) => (await import("./commands/runs.ts")).runs(args),
  },
  {
    name: "adopt",
    summary: "Make a session of Claude Code one of Skein's",
    run: async (args) => (await import("./commands/adopt.ts")).adopt(args),
  },
  {
    name: "history",
    summary: "Claude Code's sessions: find, read, price, export, move and keep them",
    run: async (args) => (await import("./commands/history.ts")).history(args),
  },
  {
    name: "sql",
    summary: "Ask Claude Code's data in SQL: tables, examples, Parquet",
    run: async (args) => (await import("./commands/sql.ts")).sql(args),
  },
  {
    name: "mcp",
    summary: "Let Claude Code look into its own past, over MCP",
    run: async (args) => (await import("./commands/mcp.ts")).mcp(args),
  },
];

/** The command line. Answers the exit code and never throws for a mistake of the caller. */
export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const { help } = await import("./commands/help.ts");
    return help(COMMANDS);
  }
  if (name === "--version" || name === "-V") {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const command = COMMANDS.find((known) => known.name === name);
  if (!command) {
    process.stderr.write(`skein has no command "${name}". "skein --help" lists the ones it has.\n`);
    return 2;
  }
  return command.run(args);
}

/** Parses the options of a command: what does not fit is one sentence, and the command answers 2. */
export function parsedArgs<const Options extends NonNullable<Parameters<typeof parseArgs>[0]>["options"]>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return undefined;
  }
}

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
