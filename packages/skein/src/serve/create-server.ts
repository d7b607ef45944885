import { readConfig } from "../config.ts";
import { refuseUnknown } from "../known-options.ts";
import type { SkeinConfig } from "./config-file.ts";
import type { RunningServer } from "./start-options.ts";

export interface ServerOptions extends SkeinConfig {
  /** Default: 7433. 0 takes a free port. */
  readonly port?: number;
  readonly host?: string;
  /** `sqlite:FILE`, `file:FOLDER`, `postgres://…` or `memory:`. Default: a sqlite file in the data folder. */
  readonly store?: string;
  readonly data?: string;
  /** A folder or `s3://BUCKET/PREFIX` for the files that agents make. Default: beside the sessions. */
  readonly files?: string;
  /** Receives one line per request and per bug, without secrets. */
  readonly log?: (line: Readonly<Record<string, unknown>>) => void;
}

const OPTIONS = "port host store data files log limits retention agents tools skills claude policy models".split(" ");

/** Starts the server of `skein serve` in this process. Options that are left out come from the environment. */
export async function createServer(options: ServerOptions = {}): Promise<RunningServer> {
  refuseUnknown(options, OPTIONS, "createServer");
  // Loaded here, because a program that only creates agents does not need these modules.
  const { codeOf, serveSettings, startServer } = await import("./index.ts");
  const {
    port,
    host,
    store,
    data,
    files,
    limits = {},
    retention = {},
    log,
    agents = [],
    tools = [],
    skills = [],
    claude = {},
    policy = {},
    models = {},
  } = options;
  const flags = { host, store, data, files, ...(port !== undefined && { port: String(port) }) };
  const settings = serveSettings(flags, readConfig());
  const code = codeOf({ agents, tools, skills, claude, limits, retention, policy, models });
  return startServer({
    ...settings,
    code,
    // Unlike those in skein.config.ts, the program's limits and retention take precedence over the environment.
    limits: { ...settings.limits, ...code.limits },
    retention: { ...settings.retention, ...code.retention },
    ...(log && { log }),
  });
}
