import { readConfig } from "../config.ts";
import { refuseUnknown } from "../known-options.ts";
import type { SkeinConfig } from "./config-file.ts";
import type { RunningServer } from "./start-options.ts";

export interface ServerOptions extends SkeinConfig {
  /** 7433 unless told; 0 takes a free one. */
  readonly port?: number;
  readonly host?: string;
  /** `sqlite:FILE`, `file:FOLDER`, `postgres://…` or `memory:`; a sqlite file in the data folder unless told. */
  readonly store?: string;
  readonly data?: string;
  /** Where files that agents make are kept: a folder or `s3://BUCKET/PREFIX`; beside the sessions unless told. */
  readonly files?: string;
  /** One line per request and per bug, without secrets. */
  readonly log?: (line: Readonly<Record<string, unknown>>) => void;
}

/** The server of `skein serve` inside another program. What is not told comes from the environment. */
export async function createServer(options: ServerOptions = {}): Promise<RunningServer> {
  refuseUnknown(
    options,
    ["port", "host", "store", "data", "files", "limits", "log", "agents", "tools", "claude", "policy"],
    "createServer",
  );
  // Loaded here: a program that only makes agents does not need them.
  const { codeOf, serveSettings, startServer } = await import("./index.ts");
  const {
    port,
    host,
    store,
    data,
    files,
    limits = {},
    log,
    agents = [],
    tools = [],
    claude = {},
    policy = {},
  } = options;
  const flags = { host, store, data, files, ...(port !== undefined && { port: String(port) }) };
  const settings = serveSettings(flags, readConfig());
  const code = codeOf({ agents, tools, claude, limits, policy });
  // A program knows better than the environment that it runs in.
  return startServer({ ...settings, code, limits: { ...settings.limits, ...code.limits }, ...(log && { log }) });
}
