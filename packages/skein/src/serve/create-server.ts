import type { Limits } from "@skein/server";
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
  readonly limits?: Partial<Limits>;
  /** One line per request and per bug, without secrets. */
  readonly log?: (line: Readonly<Record<string, unknown>>) => void;
}

/** The server of `skein serve` inside another program. What is not told comes from the environment. */
export async function createServer(options: ServerOptions = {}): Promise<RunningServer> {
  refuseUnknown(
    options,
    ["port", "host", "store", "data", "limits", "log", "agents", "tools", "claude"],
    "createServer",
  );
  // Loaded here: a program that only makes agents does not need them.
  const { codeOf, serveSettings, startServer } = await import("./index.ts");
  const { port, host, store, data, limits, log, agents = [], tools = [], claude = {} } = options;
  const flags = { host, store, data, ...(port !== undefined && { port: String(port) }) };
  return startServer({
    ...serveSettings(flags, readConfig()),
    code: codeOf({ agents, tools, claude }),
    ...(limits && { limits }),
    ...(log && { log }),
  });
}
