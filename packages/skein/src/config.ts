import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { KnownError } from "@skein/protocol";

/** Everything that comes from the environment, read once. Nothing below this file looks at `process.env`. */
export interface Config {
  /** `memory:`, `sqlite:FILE`, `file:FOLDER` or `postgres://…`. */
  readonly storeUrl: string | undefined;
  readonly dataDir: string;
  /** For what can be made again. */
  readonly cacheDir: string;
  readonly anthropicApiKey: string | undefined;
  readonly anthropicBaseUrl: string | undefined;
  /** `simulation`: answers are made up, even if there is a key. */
  readonly model: string | undefined;
  /** NODE_ENV is "production": a model that is missing is an error. */
  readonly isProduction: boolean;
  /** Where the server listens, as it was written. */
  readonly port: string | undefined;
  readonly host: string | undefined;
  /** The operator's own admin key. */
  readonly apiKey: string | undefined;
  readonly engine: string | undefined;
  /** `off`: this server begins no session of Claude Code and drives none. */
  readonly claudeCode: string | undefined;
  /** What requests may hand to Claude Code, as it was written. */
  readonly claude: ClaudeConfig;
  /** The Redis that carries drafts and nudges between machines that share a store. */
  readonly redisUrl: string | undefined;
  /** Where OpenTelemetry spans go. */
  readonly traceEndpoint: string | undefined;
  /** Names that a Host header may have, and origins of pages that may call, besides the server's own. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Addresses that webhooks may go to although they are not public. */
  readonly allowedWebhookAddresses: readonly string[];
  /** Claude Code's data directories that the operator's admin keys may ask in SQL. */
  readonly sqlHistory: readonly string[];
}

/** What is opened by the environment; `skein.config.ts` can open more. */
export interface ClaudeConfig {
  readonly keys: readonly string[];
  readonly roots: readonly string[];
  readonly env: readonly string[];
  readonly extraArgs: readonly string[];
  readonly bypassPermissions: string | undefined;
  readonly nestedAgents: string | undefined;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return Object.freeze({
    storeUrl: env["SKEIN_STORE_URL"] || undefined,
    dataDir: env["SKEIN_DATA_DIR"] || join(home(), ".skein"),
    cacheDir: env["SKEIN_CACHE_DIR"] || join(env["XDG_CACHE_HOME"] || join(home(), ".cache"), "skein"),
    anthropicApiKey: env["ANTHROPIC_API_KEY"] || undefined,
    anthropicBaseUrl: env["ANTHROPIC_BASE_URL"] || undefined,
    model: env["SKEIN_MODEL"] || undefined,
    isProduction: env["NODE_ENV"] === "production",
    port: env["SKEIN_PORT"] || undefined,
    host: env["SKEIN_HOST"] || undefined,
    apiKey: env["SKEIN_API_KEY"] || undefined,
    engine: env["SKEIN_ENGINE"] || undefined,
    claudeCode: env["SKEIN_CLAUDE_CODE"] || undefined,
    claude: {
      keys: listIn(env["SKEIN_CLAUDE_KEYS"]),
      roots: listIn(env["SKEIN_CLAUDE_ROOTS"]),
      env: listIn(env["SKEIN_CLAUDE_ENV"]),
      extraArgs: listIn(env["SKEIN_CLAUDE_EXTRA_ARGS"]),
      bypassPermissions: env["SKEIN_CLAUDE_BYPASS_PERMISSIONS"] || undefined,
      nestedAgents: env["SKEIN_CLAUDE_NESTED_AGENTS"] || undefined,
    },
    redisUrl: env["SKEIN_REDIS_URL"] || undefined,
    traceEndpoint: env["OTEL_EXPORTER_OTLP_ENDPOINT"] || undefined,
    allowedHosts: listIn(env["SKEIN_ALLOWED_HOSTS"]),
    allowedOrigins: listIn(env["SKEIN_ALLOWED_ORIGINS"]),
    allowedWebhookAddresses: listIn(env["SKEIN_ALLOWED_WEBHOOK_ADDRESSES"]),
    sqlHistory: listIn(env["SKEIN_SQL_HISTORY"]),
  });
}

/** Whether a simulation is asked for by name, and why only a real model will do otherwise. */
export function simulationChoice({ model, isProduction }: Pick<Config, "model" | "isProduction">) {
  if (model !== undefined && model !== "simulation")
    throw new KnownError("invalid", `SKEIN_MODEL is "${model}". Expected "simulation", or nothing.`);
  return {
    simulates: model === "simulation",
    needsRealBecause: isProduction ? "NODE_ENV is production" : undefined,
  };
}

let isSimulationSaid = false;

/** Tells whoever runs a program that answers are made up: the first time in a process, and never again. */
export function saySimulationOnce(say: () => void): void {
  if (isSimulationSaid) return;
  isSimulationSaid = true;
  say();
}

/** An empty HOME would put everything into the working folder. */
function home(): string {
  return homedir() || userInfo().homedir;
}

function listIn(text: string | undefined): readonly string[] {
  return (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
