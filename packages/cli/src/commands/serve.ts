import { setTimeout as delay } from "node:timers/promises";
import { type RunningServer, type ServeSettings, loadCode, serveSettings, startServer } from "skein/serve";
import { defineCommand } from "../terminal/command.ts";
import { CommandError, EXIT } from "../terminal/exit-codes.ts";
import { onStop } from "../terminal/interrupts.ts";
import { shellQuoted } from "../terminal/shell-quoted.ts";
import { SERVER_OPTIONS } from "./server-options.ts";

/** The delay between the pieces of a simulated answer, so that people see it being written. */
const DEMO_DELAY_MS = 100;
/** The longest time for a stop. The next start resumes the unfinished runs. */
const STOP_MS = 9500;
/** How often a server of `npm start` checks that its shell still runs. */
const PARENT_MS = 500;

/** `skein serve`: the HTTP API, its store and the workers in one process. `npm start` runs this command. */
export const serve = defineCommand({
  name: "serve",
  summary: "Start the server: HTTP API, console and workers in one process.",
  options: { ...SERVER_OPTIONS, "log-requests": { about: "One JSON line per request on stderr" } },
  examples: [
    "skein serve",
    "skein serve --port 4010 --data ./data",
    "skein serve --store postgres://localhost/skein --config agents/skein.config.ts",
  ],
  async run({ values, config }) {
    // Files of this process are readable by its user only, whatever the shell's umask is.
    process.umask(0o077);
    const settings = serveSettings(values, config);
    const { stopped, stopListening } = stopSignal();
    const { server, served } = await started(settings, values["log-requests"]).catch((error: unknown) => {
      stopListening();
      throw error;
    });
    // The screen would end the process if nobody reads the greeting, so the greeting is printed without the screen.
    console.log(greeting({ ...server, served }, settings, process.stdout.isTTY));
    await stopped;
    if (process.stdout.isTTY) console.log(stopping(server.driven()));
    await Promise.race([server.close(), delay(STOP_MS, undefined, { ref: false })]);
    // A tool that ignores its abort signal would keep the process alive.
    return process.exit(EXIT.completed);
  },
});

/** Returns the text for the person who stops a server. A run in progress is given time to end its step. */
export function stopping(driven: number): string {
  const runs = driven === 1 ? "1 run" : `${driven} runs`;
  const waits = driven === 0 ? "" : ` Waiting for ${runs}, at most 10 s. Press Ctrl-C again to end immediately.`;
  return `\nStopping. Unfinished runs continue at the next start.${waits}`;
}

/** Starts a server. If the server cannot start, throws an error with the reason. */
async function started(
  settings: ServeSettings,
  logRequests: boolean,
): Promise<{ readonly server: RunningServer; readonly served: Served | undefined }> {
  try {
    const code = await loadCode(settings.configFile);
    const log = (line: Readonly<Record<string, unknown>>): void => console.error(JSON.stringify(line));
    const server = await startServer({ ...settings, code, log, logRequests, demoDelayMs: DEMO_DELAY_MS });
    const agents = code.agents.map(({ agent }) => agent.config.name);
    const served = settings.configFile && { file: settings.configFile, agents, tools: [...code.tools.keys()] };
    return { server, served: served || undefined };
  } catch (error) {
    const sentence = sentenceOfPort(error as NodeJS.ErrnoException, settings);
    throw sentence === undefined ? error : new CommandError(EXIT.io, sentence);
  }
}

function sentenceOfPort({ code, syscall }: NodeJS.ErrnoException, { port, host }: ServeSettings): string | undefined {
  if (code === "EADDRINUSE")
    return `Port ${port} of ${host} is taken: a server may be running already. "--port 0" takes a free port ("npm start -- --port 0").`;
  if (code === "EACCES" && syscall === "listen") return `Port ${port} of ${host} needs more rights than this user has.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `${host} is not an address of this machine.`;
  return undefined;
}

/**
 * `stopped` resolves at the first SIGINT or SIGTERM. npm passes a signal only to the shell between npm and this
 * process. If this shell ends, the process gets a new parent. A server of `npm start` then stops too.
 */
function stopSignal(): { readonly stopped: Promise<void>; readonly stopListening: () => void } {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stopListening = onStop(resolve);
  const shell = process.ppid;
  if (process.env["npm_lifecycle_event"] === "start")
    setInterval(() => process.ppid !== shell && resolve(), PARENT_MS).unref();
  return { stopped, stopListening };
}

/** The agents and tools that were read from the config file. */
interface Served {
  readonly file: string;
  readonly agents: readonly string[];
  readonly tools: readonly string[];
}

type GreetedServer = Pick<RunningServer, "url" | "key" | "model" | "hasConsole" | "walls"> &
  Partial<Pick<RunningServer, "metricsUrl" | "others" | "notes">> & { readonly served?: Served | undefined };

/**
 * Returns the text for the person who starts a server. Only a terminal gets the key, because other output is often
 * stored as a log.
 */
export function greeting(
  { url, metricsUrl, key, model, hasConsole, walls, served, others = [], notes = [] }: GreetedServer,
  settings: Pick<ServeSettings, "storeUrl" | "simulates"> & { readonly engine?: Pick<ServeSettings["engine"], "role"> },
  isTerminal: boolean,
): string {
  const parts = [
    `  Model    ${modelWords(model, settings)}`,
    `  Store    ${withoutPassword(settings.storeUrl)}`,
    ...othersWords(others),
    ...(served ? [`  Config   ${servedWords(served)}`] : []),
    `  Sandbox  ${walls}`,
    ...notes.map((note) => `  Note     ${note}`),
    ...(metricsUrl === undefined ? [] : [`  Metrics  ${metricsUrl}/metrics`]),
  ].join("\n");
  if (settings.engine?.role === "worker")
    return `Skein runs sessions as a worker. ${url} has only /health, /ready and /metrics.

${parts}

Stop it with Ctrl-C. Another worker continues with its sessions.`;
  const [link, given] =
    key.file === undefined
      ? [`${url}/  (log in with the key in SKEIN_API_KEY)`, "$SKEIN_API_KEY"]
      : [
          isTerminal ? `${url}/#key=${key.key}` : `${url}/  (log in with the key in ${key.file})`,
          `$(cat ${shellQuoted(key.file)})`,
        ];
  return `Skein listens on ${url}

  ${hasConsole ? `Console  ${link}` : `Reference ${url}/`}
${parts}
  API      curl -s ${url}/v1/me -H "X-API-Key: ${given}"

Stop it with Ctrl-C. Unfinished runs continue at the next start.`;
}

function modelWords(
  { description, simulated }: GreetedServer["model"],
  { simulates = false }: Pick<ServeSettings, "simulates">,
): string {
  if (!simulated) return description;
  return simulates
    ? `${description}: answers are made up`
    : "a simulation with made-up answers. For Claude, set ANTHROPIC_API_KEY";
}

/** Returns a line about other servers on the same store. */
function othersWords(others: readonly string[]): readonly string[] {
  if (others.length === 0) return [];
  const pids = others.map((owner) => owner.split("/")[1]).join(", ");
  const who = others.length === 1 ? `Another server (process ${pids}) uses` : `Other servers (processes ${pids}) use`;
  return [`${" ".repeat(11)}${who} this store too. That is safe.`];
}

/**
 * Returns the path of the config file, and the names of its agents and tools: `/srv/skein.config.ts (agents: Clerk;
 * tools: refund)`.
 */
function servedWords({ file, agents, tools }: Served): string {
  const parts = [
    agents.length > 0 && `agents: ${agents.join(", ")}`,
    tools.length > 0 && `tools: ${tools.join(", ")}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? file : `${file} (${parts.join("; ")})`;
}

function withoutPassword(storeUrl: string): string {
  return storeUrl.replace(/(:\/\/[^:@/]*):[^@/]*@/, "$1:***@");
}
