import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { SandboxMode } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { Limits, RetentionDays } from "@skein/server";
import { type ClaudeConfig, type Config, type S3Config, simulationChoice } from "../config.ts";
import { checkFiles } from "../open-files.ts";
import { type EngineSettings, engineSettings } from "./engine-settings.ts";
import { limitsIn } from "./limits.ts";
import { type SecretsSettings, secretsSettings } from "./secrets-settings.ts";
import { retentionIn } from "./retention.ts";

/**
 * The settings of a server. Flags take precedence over the environment. All settings are checked before anything is
 * opened.
 */
export interface ServeSettings {
  readonly port: number;
  readonly host: string;
  /** A port on 127.0.0.1, where `/metrics` needs no key. */
  readonly metricsPort: number | undefined;
  readonly storeUrl: string;
  readonly dataDir: string;
  /** The address of the folder or bucket for generated files. Default: beside the sessions. */
  readonly filesUrl: string | undefined;
  readonly s3: S3Config;
  /** Limits from the environment. */
  readonly limits: Partial<Limits>;
  /** Days of retention by tenant, from the environment. */
  readonly retention: RetentionDays;
  /** The role and the engine of this process. */
  readonly engine: EngineSettings;
  readonly configFile: string | undefined;
  readonly apiKey: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly allowedWebhookAddresses: readonly string[];
  readonly openedToModels: Config["openedToModels"];
  readonly sqlHistory: readonly string[];
  /**
   * Claude Code's data directories for HTTP requests, and the keys that may read them besides admin keys. Undefined: no
   * directory can be read.
   */
  readonly history: HistorySettings | undefined;
  /** The Redis that carries drafts and notices of new events between machines that share the store. */
  readonly redisUrl: string | undefined;
  readonly traceEndpoint: string | undefined;
  /** Whether spans contain the content of messages and tool calls. */
  readonly traceContent: boolean;
  readonly traceService: string | undefined;
  /** The folder of the built console. Null: no console. Undefined: the folder of the console's package. */
  readonly consoleFolder: string | null | undefined;
  /** Whether this server creates and runs sessions of Claude Code. */
  readonly claudeCode: boolean;
  /** The options of Claude Code that the environment allows. */
  readonly claudeOpened: ClaudeSettings;
  /** How many days the audit log is kept. */
  readonly auditDays: number | undefined;
  /** The vault, which encrypts secrets in the store, and the ids of lost keys. */
  readonly secrets: SecretsSettings;
  /** The value of SKEIN_SANDBOX. */
  readonly sandbox: SandboxMode | undefined;
  readonly anthropicApiKey: string | undefined;
  readonly anthropicAuthToken: string | undefined;
  readonly claudeOauthToken: string | undefined;
  readonly anthropicBaseUrl: string | undefined;
  /**
   * Whether the operator requested a simulation. If false and `needsRealBecause` is set, a missing API key of the model
   * is an error.
   */
  readonly simulates?: boolean;
  /** The simulator that several processes share. */
  readonly simulatorUrl?: string | undefined;
  readonly needsRealBecause?: string | undefined;
}

/** Without `roots`, the history has the default folders of the server's user. */
interface HistorySettings {
  readonly roots: readonly string[] | undefined;
  readonly keys: readonly string[];
}

export interface ServeFlags {
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  readonly store?: string | undefined;
  readonly data?: string | undefined;
  readonly files?: string | undefined;
  readonly config?: string | undefined;
  readonly role?: string | undefined;
}

const DEFAULT_PORT = "7433";
export const LOOPBACK = ["127.0.0.1", "localhost", "::1"];
const CONFIG_FILE = "skein.config.ts";
/** Names for which a config file would be missed without an error. */
const OTHER_NAMES = ["js", "mjs", "cjs", "mts", "cts"].map((ending) => `skein.config.${ending}`);

/**
 * Decides whether a real model is needed. If other machines can reach the server, it simulates answers only at the
 * operator's request.
 */
function realModel(config: Config, host: string) {
  const { needsRealBecause, ...choice } = simulationChoice(config);
  const reached = LOOPBACK.includes(host) ? undefined : `${host} can be reached from other machines`;
  return { ...choice, needsRealBecause: needsRealBecause ?? reached };
}

/** Checks the settings. Throws `invalid` with a sentence about what is wrong. */
export function serveSettings(flags: ServeFlags, config: Config, folder = process.cwd()): ServeSettings {
  const port = portOf("The port", flags.port ?? config.port ?? DEFAULT_PORT);
  const metricsPort = config.metricsPort === undefined ? undefined : portOf("SKEIN_METRICS_PORT", config.metricsPort);
  const host = flags.host ?? config.host ?? "127.0.0.1";
  if (!LOOPBACK.includes(host) && config.apiKey === undefined)
    throw new KnownError(
      "invalid",
      `${host} can be reached from other machines: set SKEIN_API_KEY to a key of your own before listening there.`,
    );
  if (config.apiKey !== undefined && !/^[\x21-\x7e]{16,500}$/.test(config.apiKey))
    throw new KnownError("invalid", "SKEIN_API_KEY must have 16 to 500 printable ASCII characters and no spaces.");
  if (config.claudeCode !== undefined && config.claudeCode !== "on" && config.claudeCode !== "off")
    throw new KnownError("invalid", `SKEIN_CLAUDE_CODE is "${config.claudeCode}". Expected "on" or "off".`);
  for (const origin of config.allowedOrigins)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new KnownError(
        "invalid",
        `SKEIN_ALLOWED_ORIGINS has "${origin}". An origin looks like https://example.com.`,
      );
  if (config.redisUrl !== undefined && !/^rediss?:$/.test(URL.parse(config.redisUrl)?.protocol ?? ""))
    throw new KnownError("invalid", "SKEIN_REDIS_URL is not an address like redis://USER:PASSWORD@HOST:6379.");
  if (config.traceEndpoint !== undefined && !/^https?:$/.test(URL.parse(config.traceEndpoint)?.protocol ?? ""))
    throw new KnownError("invalid", "OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https address.");
  if (config.anthropicBaseUrl !== undefined && !/^https?:$/.test(URL.parse(config.anthropicBaseUrl)?.protocol ?? ""))
    throw new KnownError("invalid", "ANTHROPIC_BASE_URL is not an http or https address.");
  checkAddresses("SKEIN_ALLOWED_WEBHOOK_ADDRESSES", config.allowedWebhookAddresses);
  checkAddresses("SKEIN_ALLOWED_MODEL_ADDRESSES", config.openedToModels.addresses);
  const filesUrl = flags.files ?? config.filesUrl;
  if (filesUrl !== undefined) checkFiles(filesUrl, config.s3);
  const dataDir = resolve(folder, flags.data ?? config.dataDir);
  const storeUrl = flags.store ?? config.storeUrl ?? `sqlite:${join(dataDir, "skein.db")}`;
  return Object.freeze({
    port,
    host,
    metricsPort,
    storeUrl,
    engine: engineSettings(config.engine, flags.role, storeUrl),
    dataDir,
    filesUrl,
    s3: config.s3,
    limits: limitsIn(config.limits),
    retention: retentionIn(config.retention),
    configFile: configFile(flags.config, folder),
    apiKey: config.apiKey,
    allowedHosts: [...config.allowedHosts, ...(LOOPBACK.includes(host) ? [] : [host])].map((name) =>
      name.toLowerCase(),
    ),
    allowedOrigins: config.allowedOrigins,
    allowedWebhookAddresses: config.allowedWebhookAddresses,
    openedToModels: config.openedToModels,
    sqlHistory: config.sqlHistory.map((path) => historyFolder("SKEIN_SQL_HISTORY", resolve(folder, path))),
    history: historySettings(config, { isLocal: LOOPBACK.includes(host), folder }),
    redisUrl: config.redisUrl,
    traceEndpoint: config.traceEndpoint,
    traceContent: config.traceContent?.toLowerCase() === "true",
    traceService: config.traceService,
    consoleFolder: consoleSetting(config.console, folder),
    claudeCode: config.claudeCode !== "off",
    claudeOpened: claudeSettings(config.claude),
    sandbox: sandboxSetting(config.sandbox),
    secrets: secretsSettings(config.secrets, folder),
    auditDays: auditDaysSetting(config.auditDays),
    anthropicApiKey: config.anthropicApiKey,
    ...realModel(config, host),
    anthropicAuthToken: config.anthropicAuthToken,
    claudeOauthToken: config.claudeOauthToken,
    anthropicBaseUrl: config.anthropicBaseUrl,
  });
}

function portOf(name: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new KnownError("invalid", `${name} is "${text}". Expected a number from 0 (any free port) to 65535.`);
}

function consoleSetting(text: string | undefined, folder: string): string | null | undefined {
  if (text === undefined) return undefined;
  if (text === "off") return null;
  const path = resolve(folder, text);
  if (existsSync(join(path, "index.html"))) return path;
  throw new KnownError("invalid", `SKEIN_CONSOLE is "${text}". Expected "off" or a folder with a built console.`);
}

/** Reads the history settings. By default, the history can be read only on a server with a loopback address. */
function historySettings(
  { history, historyKeys: keys }: Config,
  { isLocal, folder }: { isLocal: boolean; folder: string },
): HistorySettings | undefined {
  if (history.length === 0) return isLocal ? { roots: undefined, keys } : undefined;
  if (history.length === 1 && history[0] === "off") return undefined;
  return { roots: history.map((path) => historyFolder("SKEIN_HISTORY", resolve(folder, path))), keys };
}

function historyFolder(name: string, path: string): string {
  if (existsSync(path)) return path;
  throw new KnownError("invalid", `${name} has "${path}", but this folder does not exist.`);
}

/** Checks the values of SKEIN_CLAUDE_…. */
function claudeSettings({ bypassPermissions, nestedAgents, processes, ...lists }: ClaudeConfig): ClaudeSettings {
  const isOn = (name: string, text: string | undefined): boolean => {
    if (text !== undefined && text !== "on" && text !== "off")
      throw new KnownError("invalid", `${name} is "${text}". Expected "on" or "off".`);
    return text === "on";
  };
  const variables = {
    keys: "SKEIN_CLAUDE_KEYS",
    roots: "SKEIN_CLAUDE_ROOTS",
    env: "SKEIN_CLAUDE_ENV",
    extraArgs: "SKEIN_CLAUDE_EXTRA_ARGS",
  };
  const figures = {
    running: "SKEIN_CLAUDE_RUNNING",
    idle: "SKEIN_CLAUDE_IDLE",
    ahead: "SKEIN_CLAUDE_AHEAD",
    idleMinutes: "SKEIN_CLAUDE_IDLE_MINUTES",
    memoryMb: "SKEIN_CLAUDE_MEMORY_MB",
  };
  const given = Object.entries(processes).filter(([, text]) => text !== undefined);
  const checked = ClaudeSettings.safeParse({
    ...lists,
    bypassPermissions: isOn("SKEIN_CLAUDE_BYPASS_PERMISSIONS", bypassPermissions),
    nestedAgents: isOn("SKEIN_CLAUDE_NESTED_AGENTS", nestedAgents),
    processes: Object.fromEntries(given.map(([name, text]) => [name, Number(text)])),
  });
  if (checked.success) return checked.data;
  const [{ path, message } = { path: [], message: "" }] = checked.error.issues;
  if (path[0] === "processes") {
    const figure = path[1] as keyof typeof figures;
    throw new KnownError("invalid", `${figures[figure]} is "${processes[figure]}". ${message}`);
  }
  const name = variables[path[0] as keyof typeof variables];
  throw new KnownError("invalid", `${name} has "${lists[path[0] as keyof typeof lists][Number(path[1])]}". ${message}`);
}

function auditDaysSetting(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (days < 1)
    throw new KnownError("invalid", `SKEIN_AUDIT_DAYS is "${text}". Expected a number of days from 1 to 99999.`);
  return days;
}

function sandboxSetting(text: string | undefined): SandboxMode | undefined {
  if (text === undefined) return undefined;
  const { data } = SandboxMode.safeParse(text);
  if (data === undefined)
    throw new KnownError("invalid", `SKEIN_SANDBOX is "${text}". Expected ${SandboxMode.options.join(", ")}.`);
  return data;
}

/**
 * Combines two settings. An option is allowed if at least one setting allows it. `one` decides the limits of processes.
 */
export function openedByBoth(one: ClaudeSettings, other: ClaudeSettings): ClaudeSettings {
  return {
    ...one,
    ...other,
    keys: [...one.keys, ...other.keys],
    roots: [...one.roots, ...other.roots],
    env: [...one.env, ...other.env],
    hosts: [...one.hosts, ...other.hosts],
    extraArgs: [...one.extraArgs, ...other.extraArgs],
    bypassPermissions: one.bypassPermissions || other.bypassPermissions,
    nestedAgents: one.nestedAgents || other.nestedAgents,
    processes: { ...other.processes, ...one.processes },
  };
}

/** Finds the config file. A named file must exist. Without a name, the folder may have no config file. */
function configFile(named: string | undefined, folder: string): string | undefined {
  const file = resolve(folder, named ?? CONFIG_FILE);
  if (existsSync(file)) return file;
  if (named !== undefined) throw new KnownError("invalid", `There is no file "${named}" with agents and tools.`);
  const other = OTHER_NAMES.find((name) => existsSync(resolve(folder, name)));
  if (other !== undefined)
    throw new KnownError(
      "invalid",
      `${resolve(folder, other)} is not read: the name of the config file is ${CONFIG_FILE}. Rename it, or use --config ${other}.`,
    );
  return undefined;
}

function checkAddresses(variable: string, addresses: readonly string[]): void {
  for (const address of addresses)
    if (isIP(address) === 0)
      throw new KnownError("invalid", `${variable} has "${address}", which is not an IP address.`);
}
