import { buildIndex, withArchive } from "@skein/history";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../config.ts";
import { parsedArgs } from "../main.ts";
import { createHistoryServer } from "../mcp/serve-history.ts";

/** `skein mcp`: lets Claude Code, or any MCP client, look into past sessions over standard input and output. */
export async function mcp(args: readonly string[]): Promise<number> {
  const parsed = parsedArgs(args, { root: { type: "string", multiple: true }, help: { type: "boolean", short: "h" } });
  if (!parsed) return 2;
  if (parsed.values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (parsed.positionals.length > 0) {
    process.stderr.write(`"skein mcp" takes options only. "skein mcp --help" explains it.\n`);
    return 2;
  }
  const { root } = parsed.values;
  const archiveFolder = join(readConfig().dataDir, "archive");
  const config = async () => await withArchive({ archiveFolder, ...(root === undefined ? {} : { dataPath: root }) });
  // Standard output belongs to the protocol: nothing else may be written there.
  const ended = new Promise<void>((resolve) => {
    process.stdin.once("end", resolve);
    process.stdin.once("close", resolve);
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  const handle = serveStdio(() => createHistoryServer({ version: version(), config }));
  // In the background, so that the first question need not wait; without it, answers are the same but slower.
  const stop = new AbortController();
  const indexed = config()
    .then((library) => buildIndex({ ...library, signal: stop.signal }))
    .catch(() => undefined);
  await ended;
  stop.abort();
  await indexed;
  await handle.close();
  return 0;
}

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

const HELP = `skein mcp: serve search, outline and reading of past Claude Code sessions over MCP (standard input and output)

Usage: skein mcp [options]

Options:
  --root DIR  A Claude Code data directory; may be given several times
  -h, --help  This text

Tools: history_sessions, history_search, history_outline, history_read. They only read, and their answers are bounded.

Examples:
  claude mcp add history -- npx skein mcp   Let Claude Code look into its own past
  skein mcp --root /backup/claude           Serve another data directory
`;
