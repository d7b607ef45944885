import { setTimeout as delay } from "node:timers/promises";
import { isKnownError } from "@skein/protocol";
import { readConfig } from "../config.ts";
import { parsedArgs } from "../main.ts";
import { loadCode } from "../serve/config-file.ts";
import { type RunningServer, startServer } from "../serve/server.ts";
import { type ServeSettings, serveSettings } from "../serve/settings.ts";
import { type CommandHelp, helpOf } from "../terminal/command-help.ts";
import { fileSentence, isFileError } from "../terminal/file-error.ts";

/** Between the pieces of a simulated answer, so that people see it being written. */
const DEMO_DELAY_MS = 20;
/** Whatever is not over by then is left to the next start, which takes it up. */
const STOP_MS = 9500;

const HELP: CommandHelp = {
  name: "serve",
  words: "",
  summary: "Start the platform API, its store and the engine in one process.",
  options: [
    ["port", "N", "Listen on this port (SKEIN_PORT, default 7433; 0 takes a free one)"],
    ["host", "ADDRESS", "Listen on this address (SKEIN_HOST, default 127.0.0.1; others need SKEIN_API_KEY)"],
    ["store", "URL", "sqlite:FILE, file:FOLDER, postgres://… (SKEIN_STORE_URL, default: sqlite in the data folder)"],
    ["data", "FOLDER", "Where the key, files and the store are (SKEIN_DATA_DIR, default ~/.skein)"],
    ["config", "FILE", "Agents and tools in code (default: skein.config.ts here, if there is one)"],
    ["log-requests", null, "One JSON line per request on stderr"],
  ],
  examples: [
    "skein serve",
    "skein serve --port 4010 --data ./data",
    "skein serve --store postgres://localhost/skein --config agents/skein.config.ts",
  ],
};

/** `skein serve`: the platform API, its store and the engine in one process. What `npm start` runs. */
export async function serve(args: readonly string[]): Promise<number> {
  const parsed = parsedArgs(args, {
    port: { type: "string" },
    host: { type: "string" },
    store: { type: "string" },
    data: { type: "string" },
    config: { type: "string" },
    "log-requests": { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  });
  if (!parsed) return 2;
  if (parsed.values.help) {
    process.stdout.write(helpOf(HELP));
    return 0;
  }
  if (parsed.positionals.length > 0) {
    console.error(`Expected "skein serve [--port N] [--host H] [--store URL] [--data FOLDER] [--config FILE]".`);
    return 2;
  }
  // Files that this process makes are for its user alone, whatever the shell allows.
  process.umask(0o077);
  let settings: ServeSettings;
  try {
    settings = serveSettings(parsed.values, readConfig());
  } catch (error) {
    if (!isKnownError(error)) throw error;
    console.error(error.message);
    return 2;
  }
  const stopped = stopSignal();
  const server = await started(settings, parsed.values["log-requests"]);
  if (!server) return 1;
  console.log(greeting(server, settings));
  await stopped;
  const inTime = await Promise.race([server.close().then(() => true), delay(STOP_MS, false, { ref: false })]);
  if (!inTime) process.exit(0);
  return 0;
}

/** A running server, or a sentence and nothing. */
async function started(settings: ServeSettings, logRequests: boolean): Promise<RunningServer | undefined> {
  try {
    const code = await loadCode(settings.configFile);
    const log = (line: Readonly<Record<string, unknown>>): void => console.error(JSON.stringify(line));
    return await startServer({ ...settings, code, log, logRequests, demoDelayMs: DEMO_DELAY_MS });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    const { port, host } = settings;
    if (code === "EADDRINUSE") console.error(`Port ${port} of ${host} is taken. "--port 0" takes a free one.`);
    else if (code === "EACCES" && syscall === "listen")
      console.error(`Port ${port} of ${host} needs more rights than this user has.`);
    else if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") console.error(`${host} is no address of this machine.`);
    else if (isKnownError(error)) console.error(error.message);
    else if (isFileError(error)) console.error(fileSentence(error));
    else throw error;
    return undefined;
  }
}

/** Resolves at the first SIGINT or SIGTERM. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

function greeting({ url, key, model }: RunningServer, settings: ServeSettings): string {
  const show = key.file === undefined ? "$SKEIN_API_KEY" : `$(cat ${key.file})`;
  const login = key.isNew && key.file !== undefined ? `\n  Log in   ${url}/#key=${key.key}` : "";
  return `Skein listens on ${url}

  Model    ${model.description}${model.simulated ? "\n           It is not Claude: answers are made up and cost nothing. Set ANTHROPIC_API_KEY for the real one." : ""}
  Store    ${withoutPassword(settings.storeUrl)}
  Key      ${key.file ?? "the one in SKEIN_API_KEY"}${login}
  Reference ${url}/

Try it:
  curl -s ${url}/v1/agents -H "X-API-Key: ${show}" -H 'content-type: application/json' -d '{"name":"Helper","system_prompt":"Be brief."}'

Stop it with Ctrl-C. What was under way goes on at the next start.`;
}

function withoutPassword(storeUrl: string): string {
  return storeUrl.replace(/(:\/\/[^:@/]*):[^@/]*@/, "$1:***@");
}
