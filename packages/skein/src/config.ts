import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { KnownError } from "@skein/protocol/known-error";

/** All settings from the environment. No other file of this package reads `process.env`. */
export interface Config {
  /** `memory:`, `sqlite:FILE`, `file:FOLDER` or `postgres://…`. */
  readonly storeUrl: string | undefined;
  readonly dataDir: string;
  /** The folder for caches. */
  readonly cacheDir: string;
  /** The storage for generated files: a folder or `s3://BUCKET/PREFIX`. Default: beside the store. */
  readonly filesUrl: string | undefined;
  readonly s3: S3Config;
  /** Limits of the HTTP server, not parsed yet, such as `streams=20`. */
  readonly limits: readonly string[];
  /** How many days the sessions of each tenant are kept, not parsed yet, such as `*=365` and `acme=30`. */
  readonly retention: readonly string[];
  readonly anthropicApiKey: string | undefined;
  /** A token for gateways, which is sent as `Authorization: Bearer` instead of an API key. */
  readonly anthropicAuthToken: string | undefined;
  /** The token of a subscription, for Claude Code only (`claude setup-token`). */
  readonly claudeOauthToken: string | undefined;
  readonly anthropicBaseUrl: string | undefined;
  /** With `simulation`, answers are simulated even if an API key is set. */
  readonly model: string | undefined;
  /** The address of a simulator that several processes share. */
  readonly simulatorUrl: string | undefined;
  /** True if NODE_ENV is "production". A missing model is an error in production. */
  readonly isProduction: boolean;
  /** The port of the server, not parsed yet. */
  readonly port: string | undefined;
  readonly host: string | undefined;
  /** The loopback port on which `/metrics` needs no key, not parsed yet. */
  readonly metricsPort: string | undefined;
  /** The operator's admin key. */
  readonly apiKey: string | undefined;
  /** The role of this process, its engine, and the addresses of Restate, not parsed yet. */
  readonly engine: EngineConfig;
  /** With `off`, this server neither creates nor runs sessions of Claude Code. */
  readonly claudeCode: string | undefined;
  /** How many days the audit log is kept, not parsed yet. */
  readonly auditDays: string | undefined;
  /**
   * The keys that encrypt secrets in the store: their text in `key`, or the path of a file in `file`. `lost` has the
   * ids of lost keys.
   */
  readonly secrets: { readonly key?: string; readonly file?: string; readonly lost?: string };
  /**
   * The mode of the sandbox: `required`, `preferred` or `off`. If undefined, the mode depends on who can reach the
   * server.
   */
  readonly sandbox: string | undefined;
  /** The options of Claude Code that requests may use, not parsed yet. */
  readonly claude: ClaudeConfig;
  /** The folder of another build of the console, or `off` for a server without a console. */
  readonly console: string | undefined;
  /** The address of the Redis that carries drafts and notices of new events between machines with the same store. */
  readonly redisUrl: string | undefined;
  /** The address for OpenTelemetry spans. */
  readonly traceEndpoint: string | undefined;
  /** With `true`, spans contain the content of messages. */
  readonly traceContent: string | undefined;
  readonly traceService: string | undefined;
  /**
   * Additional host names that requests may use. `allowedOrigins` has additional origins whose pages may call the
   * server.
   */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Addresses that webhooks may call in addition to public addresses. */
  readonly allowedWebhookAddresses: readonly string[];
  /**
   * Additional permissions for models that HTTP requests add: addresses that are not public, and environment variables
   * with API keys.
   */
  readonly openedToModels: { readonly addresses: readonly string[]; readonly keyVariables: readonly string[] };
  /**
   * Claude Code's data directories that may be read over HTTP, or `off`. `historyKeys` are keys that may read them in
   * addition to admin keys.
   */
  readonly history: readonly string[];
  readonly historyKeys: readonly string[];
  /** Claude Code's data directories that the operator's admin keys may query with SQL. */
  readonly sqlHistory: readonly string[];
}

export interface EngineConfig {
  readonly role: string | undefined;
  readonly engine: string | undefined;
  readonly restate: {
    readonly ingressUrls: readonly string[];
    readonly adminUrl: string | undefined;
    readonly endpoint: string | undefined;
    readonly workersUrl: string | undefined;
    readonly identityKeys: readonly string[];
    readonly service: string | undefined;
    readonly token: string | undefined;
  };
}

/** The options of Claude Code that the environment allows. `skein.config.ts` can allow more. */
export interface ClaudeConfig {
  readonly keys: readonly string[];
  readonly roots: readonly string[];
  readonly env: readonly string[];
  readonly extraArgs: readonly string[];
  readonly bypassPermissions: string | undefined;
  readonly nestedAgents: string | undefined;
  /** The limits of Claude Code's processes. */
  readonly processes: {
    readonly running: string | undefined;
    readonly idle: string | undefined;
    readonly ahead: string | undefined;
    readonly idleMinutes: string | undefined;
    readonly memoryMb: string | undefined;
  };
}

/** The values of the `AWS_…` variables that tools for S3 read. */
export interface S3Config {
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
  readonly sessionToken: string | undefined;
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return Object.freeze({
    storeUrl: env["SKEIN_STORE_URL"] || undefined,
    dataDir: env["SKEIN_DATA_DIR"] || join(home(), ".skein"),
    cacheDir: env["SKEIN_CACHE_DIR"] || join(env["XDG_CACHE_HOME"] || join(home(), ".cache"), "skein"),
    filesUrl: env["SKEIN_FILES"] || undefined,
    s3: {
      accessKeyId: env["AWS_ACCESS_KEY_ID"] || undefined,
      secretAccessKey: env["AWS_SECRET_ACCESS_KEY"] || undefined,
      sessionToken: env["AWS_SESSION_TOKEN"] || undefined,
      region: env["AWS_REGION"] || env["AWS_DEFAULT_REGION"] || undefined,
      endpoint: env["AWS_ENDPOINT_URL_S3"] || env["AWS_ENDPOINT_URL"] || undefined,
    },
    limits: listIn(env["SKEIN_LIMITS"]),
    retention: listIn(env["SKEIN_RETENTION"]),
    anthropicApiKey: env["ANTHROPIC_API_KEY"] || undefined,
    anthropicAuthToken: env["ANTHROPIC_AUTH_TOKEN"] || undefined,
    claudeOauthToken: env["CLAUDE_CODE_OAUTH_TOKEN"] || undefined,
    anthropicBaseUrl: env["ANTHROPIC_BASE_URL"] || undefined,
    model: env["SKEIN_MODEL"] || undefined,
    simulatorUrl: env["SKEIN_SIMULATOR_URL"] || undefined,
    isProduction: env["NODE_ENV"] === "production",
    port: env["SKEIN_PORT"] || undefined,
    host: env["SKEIN_HOST"] || undefined,
    metricsPort: env["SKEIN_METRICS_PORT"] || undefined,
    apiKey: env["SKEIN_API_KEY"] || undefined,
    engine: {
      role: env["SKEIN_ROLE"] || undefined,
      engine: env["SKEIN_ENGINE"] || undefined,
      restate: {
        ingressUrls: listIn(env["SKEIN_RESTATE_URL"]),
        adminUrl: env["SKEIN_RESTATE_ADMIN_URL"] || undefined,
        endpoint: env["SKEIN_RESTATE_ENDPOINT"] || undefined,
        workersUrl: env["SKEIN_RESTATE_WORKERS_URL"] || undefined,
        identityKeys: listIn(env["SKEIN_RESTATE_IDENTITY_KEYS"]),
        service: env["SKEIN_RESTATE_SERVICE"] || undefined,
        token: env["SKEIN_RESTATE_TOKEN"] || undefined,
      },
    },
    claudeCode: env["SKEIN_CLAUDE_CODE"] || undefined,
    auditDays: env["SKEIN_AUDIT_DAYS"] || undefined,
    secrets: {
      ...(env["SKEIN_SECRETS_KEY"] && { key: env["SKEIN_SECRETS_KEY"] }),
      ...(env["SKEIN_SECRETS_KEY_FILE"] && { file: env["SKEIN_SECRETS_KEY_FILE"] }),
      ...(env["SKEIN_SECRETS_KEY_LOST"] && { lost: env["SKEIN_SECRETS_KEY_LOST"] }),
    },
    sandbox: env["SKEIN_SANDBOX"] || undefined,
    claude: {
      keys: listIn(env["SKEIN_CLAUDE_KEYS"]),
      roots: listIn(env["SKEIN_CLAUDE_ROOTS"]),
      env: listIn(env["SKEIN_CLAUDE_ENV"]),
      extraArgs: listIn(env["SKEIN_CLAUDE_EXTRA_ARGS"]),
      bypassPermissions: env["SKEIN_CLAUDE_BYPASS_PERMISSIONS"] || undefined,
      nestedAgents: env["SKEIN_CLAUDE_NESTED_AGENTS"] || undefined,
      processes: {
        running: env["SKEIN_CLAUDE_RUNNING"] || undefined,
        idle: env["SKEIN_CLAUDE_IDLE"] || undefined,
        ahead: env["SKEIN_CLAUDE_AHEAD"] || undefined,
        idleMinutes: env["SKEIN_CLAUDE_IDLE_MINUTES"] || undefined,
        memoryMb: env["SKEIN_CLAUDE_MEMORY_MB"] || undefined,
      },
    },
    console: env["SKEIN_CONSOLE"] || undefined,
    redisUrl: env["SKEIN_REDIS_URL"] || undefined,
    traceEndpoint: env["OTEL_EXPORTER_OTLP_ENDPOINT"] || undefined,
    traceContent: env["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] || undefined,
    traceService: env["OTEL_SERVICE_NAME"] || undefined,
    allowedHosts: listIn(env["SKEIN_ALLOWED_HOSTS"]),
    allowedOrigins: listIn(env["SKEIN_ALLOWED_ORIGINS"]),
    allowedWebhookAddresses: listIn(env["SKEIN_ALLOWED_WEBHOOK_ADDRESSES"]),
    openedToModels: {
      addresses: listIn(env["SKEIN_ALLOWED_MODEL_ADDRESSES"]),
      keyVariables: listIn(env["SKEIN_MODEL_KEY_VARIABLES"]),
    },
    history: listIn(env["SKEIN_HISTORY"]),
    historyKeys: listIn(env["SKEIN_HISTORY_KEYS"]),
    sqlHistory: listIn(env["SKEIN_SQL_HISTORY"]),
  });
}

/** Tells whether the operator requested a simulation. `needsRealBecause` says why a missing model is an error. */
export function simulationChoice({
  model,
  simulatorUrl,
  isProduction,
}: Pick<Config, "model" | "simulatorUrl" | "isProduction">) {
  if (model !== undefined && model !== "simulation")
    throw new KnownError("invalid", `SKEIN_MODEL is "${model}". Expected "simulation", or nothing.`);
  return {
    simulates: model === "simulation",
    simulatorUrl,
    needsRealBecause: isProduction ? "NODE_ENV is production" : undefined,
  };
}

/** Returns the value of an environment variable, such as an API key. Returns undefined if the variable is empty. */
export function environmentKey(variable: string): string | undefined {
  return process.env[variable] || undefined;
}

let isSimulationSaid = false;

/** Tells the user once per process that answers are simulated, and why. */
export function saySimulationOnce(config: Config, say: (sentence: string) => void): void {
  if (isSimulationSaid) return;
  isSimulationSaid = true;
  const why = simulationChoice(config).simulates ? "SKEIN_MODEL asks for it" : "No ANTHROPIC_API_KEY is set";
  say(`${why}: the model is a simulation. Its answers are made up and cost nothing.`);
}

/**
 * Returns the home folder, even if HOME is empty. If the result were empty, files would be written to the working
 * folder.
 */
function home(): string {
  return homedir() || userInfo().homedir;
}

function listIn(text: string | undefined): readonly string[] {
  return (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
