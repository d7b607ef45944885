import { join, resolve } from "node:path";
import { createHeartbeat } from "@skein/adapters/engines/heartbeat";
import { isDeadOwner, thisOwner } from "@skein/adapters/engines/owner";
import {
  type Bus,
  type FileStore,
  type Store,
  type Tool,
  type WorkerInfo,
  createAuditLog,
  createWorkers,
} from "@skein/core";
import { createIds, isKnownError } from "@skein/protocol";
import { openEngine } from "../engine.ts";
import type { Adoption, HistoryPort, ServerDeps } from "@skein/server";
import { type Host, createHost } from "../host.ts";
import { catalogWith } from "../open-catalog.ts";
import { type OpenModel, openModel } from "../open-model.ts";
import { folderIn, openServerFiles } from "../open-files.ts";
import { openMemoriesNamed } from "../open-memories.ts";
import { loadPart } from "../optional-parts.ts";
import { placeOf } from "../store-address.ts";
import type { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { placesWith } from "@skein/adapters/tools";
import { type Claude, createClaude } from "./claude.ts";
import { withDemoTool } from "./demo-tool.ts";
import type { ServerPolicy } from "./policy.ts";
import { registerWorker } from "./register-worker.ts";
import { createReport } from "./report.ts";
import { type Workplaces, createWorkplaces } from "./workplaces.ts";
import type { StartOptions } from "./start-options.ts";

type SqlPort = NonNullable<ServerDeps["sql"]>;

/** The parts that the HTTP server of one process uses. */
export interface ServerParts {
  readonly host: Host;
  /** Rejects if a service of the engine does not answer. Undefined if the engine needs no service. */
  readonly engineCheck: (() => Promise<void>) | undefined;
  /** How many processes answer requests on this store. */
  readonly apiProcesses: () => number;
  /** Processes on this machine that already served the store when this process started. */
  readonly others: readonly string[];
  readonly model: OpenModel;
  /** The tools that agents may use if they were made over HTTP. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly files: FileStore;
  readonly bus: Bus | undefined;
  readonly claude: Claude | undefined;
  readonly sql: SqlPort;
  readonly adoption: Adoption;
  /** Undefined if the history is off, or its package is not installed. */
  readonly history: (HistoryPort & { close(): Promise<void> }) | undefined;
  readonly workplaces: Workplaces;
  /** Stops the engine and the SQL part, so that this process no longer runs sessions or SQL statements. */
  stop(): Promise<void>;
  /** Closes all parts and the store. */
  close(): Promise<void>;
}

/** The start options, and settings that are made from them. */
interface PartsOptions extends StartOptions {
  /** The settings of Claude Code from the environment and the config file together. */
  readonly claudeSettings: ClaudeSettings;
  readonly rules: ServerPolicy;
}

/** Opens everything that a server needs besides its store. */
export async function openParts(store: Store, options: PartsOptions): Promise<ServerParts> {
  const { dataDir, rules } = options;
  const report = createReport(options.log);
  const model = await openModel(options);
  const code = await withDemoTool(options.code, { records: store.records, isSimulated: model.simulated });
  const models = catalogWith(model, { store, configured: code.models, opened: options.openedToModels });
  const memories = await openMemoriesNamed(new Set(["placeholder", "full_text"]), options.storeUrl);
  const { files, close: closeFiles } = await openServerFiles(options);
  const refused = refusalsIn(store);
  const claude =
    options.claudeCode === false
      ? undefined
      : createClaude({
          dataDir,
          storePlaces: placesOf(options),
          records: store.records,
          settings: options.claudeSettings,
          rules: options.rules,
          allowedAddresses: options.allowedWebhookAddresses,
          api: model.api,
          refused,
          simulated: model.simulated,
          reach: models.forClaudeCode,
          oauth: oauthOf(options),
        });
  const bus = options.redisUrl === undefined ? undefined : await openBus(options.redisUrl, report);
  const sql = await openSql(store, options);
  const adoption = await openAdoption(store);
  const engine = await openEngine(options.engine ?? { role: "all", restate: undefined });
  const history = await openHistory(store, options);
  const workplaces = createWorkplaces({
    dataDir,
    rules,
    places: placesWith(options.allowedWebhookAddresses),
    limits: options.claudeSettings.limits,
    store,
    report,
    refused,
  });
  const host = createHost({
    store,
    bus,
    engine: engine.factory,
    isShared: rules.isShared,
    ...(rules.hasCaps && { capsOf: rules.capsOf }),
    ...code,
    leavesUnusable: options.engine?.role === "worker",
    models,
    files,
    workplaceOf: workplaces.of,
    memoryNamed: memories.named,
    memories: memories.all,
    ...(claude && { runtimes: claude.runtimes }),
    report,
  });
  const workers = await joinWorkers(store, options, {
    model,
    tools: code.tools,
    runtimes: claude ? ["loop", "claude-code"] : ["loop"],
    onFreed: host.engine.look,
    report,
  });
  return {
    host,
    engineCheck: engine.check,
    apiProcesses: workers.apiProcesses,
    others: workers.others,
    model,
    tools: code.tools,
    files,
    bus,
    claude,
    sql,
    adoption,
    history,
    workplaces,
    async stop() {
      await Promise.all([host.stop(), sql.close(), workers.leave()]);
      await engine.close();
    },
    async close() {
      workplaces.close();
      await history?.close();
      await claude?.close();
      await memories.close();
      await closeFiles();
      await bus?.close();
      await store.close();
      await model.close();
    },
  };
}

/** Returns a function that writes into the audit log that a session was refused because of the sandbox. */
function refusalsIn({ records }: Store) {
  const audit = createAuditLog({ records, ids: createIds(), now: Date.now });
  return ({ tenant, sessionId }: { tenant: string; sessionId: string }, detail: string): Promise<void> =>
    audit.append(tenant, { action: "sandbox.refuse", target: sessionId, outcome: "refused", detail });
}

/** Returns the token of the operator's Claude subscription, if the operator set a token. */
function oauthOf({ claudeOauthToken: token, anthropicBaseUrl: baseUrl }: StartOptions) {
  return token === undefined ? undefined : { token, baseUrl };
}

interface WorkerDeps {
  readonly model: OpenModel;
  readonly tools: ServerParts["tools"];
  readonly runtimes: WorkerInfo["runtimes"];
  /** Called when sessions of a dead worker have become free for other workers. */
  readonly onFreed: () => void;
  readonly report: (error: unknown) => void;
}

/**
 * Adds this process to the store's list of workers. If several machines may use the store, the process sends
 * heartbeats.
 */
async function joinWorkers(
  store: Store,
  { engine, storeUrl, code }: StartOptions,
  { model, tools, runtimes, onFreed, report }: WorkerDeps,
): Promise<Pick<ServerParts, "apiProcesses" | "others"> & { leave(): Promise<void> }> {
  const worker: WorkerInfo = {
    role: engine?.role ?? "all",
    owner: thisOwner(),
    runtimes,
    agents: code.agents.map(({ agent }) => agent.config.name),
    tools: [...tools.keys()],
    skills: code.skills?.map(({ name }) => name) ?? [],
    model: model.description,
  };
  if (!/^postgres(ql)?:/.test(storeUrl)) {
    const { others, leave } = await registerWorker(store, worker);
    return { apiProcesses: () => 1, others, leave };
  }
  let apis = 1;
  const heartbeat = createHeartbeat({
    store,
    workers: createWorkers(store.records),
    worker: () => worker,
    isDead: isDeadOwner,
    onFreed,
    onSeen: (all) => void (apis = Math.max(1, all.filter(({ role }) => role !== "worker").length)),
    report,
  });
  heartbeat.start();
  return { apiProcesses: () => apis, others: [], leave: heartbeat.stop };
}

async function openBus(url: string, report: (error: unknown) => void): Promise<Bus> {
  const { createRedisBus } = await loadPart.redisBus();
  return createRedisBus({ url, report });
}

/**
 * Opens the part that answers SQL statements. Without its package, every statement is rejected with a sentence about
 * what to install.
 */
async function openSql(store: Store, options: StartOptions): Promise<SqlPort & { close(): Promise<void> }> {
  const { dataDir, sqlHistory = [] } = options;
  try {
    const { createTenantSql } = await loadPart.sql();
    return createTenantSql({
      store,
      folder: join(dataDir, "sql"),
      ...(sqlHistory.length > 0 && { history: { roots: sqlHistory, cacheFolder: join(dataDir, "cache") } }),
    });
  } catch (error) {
    const refuse = refusal(error);
    return { ask: refuse, problem: () => (error as Error).message, close: async () => {} };
  }
}

/**
 * Opens the part that makes sessions of Skein from Claude Code's files. Without the history package, every request is
 * rejected with a sentence about what to install.
 */
async function openAdoption(store: Store): Promise<Adoption> {
  try {
    const { createAdoption } = await loadPart.adoption();
    return createAdoption({ store });
  } catch (error) {
    const refuse = refusal(error);
    return { adopt: refuse, filesOf: refuse, changedFiles: refuse, pageOf: refuse };
  }
}

/** The files and folders on this machine that contain the store and the generated files. */
function placesOf({ storeUrl, filesUrl }: Pick<StartOptions, "storeUrl" | "filesUrl">): readonly string[] {
  const { scheme, place } = placeOf(storeUrl);
  return [
    ...(["sqlite", "file"].includes(scheme) ? [resolve(place)] : []),
    ...(filesUrl === undefined || filesUrl.startsWith("s3://") ? [] : [resolve(folderIn(filesUrl))]),
  ];
}

/** Opens the history of coding agents' sessions, if the operator allows it. */
async function openHistory(store: Store, { history, dataDir }: StartOptions): Promise<ServerParts["history"]> {
  if (!history) return undefined;
  try {
    const { createHistory } = await loadPart.claudeHistory();
    return createHistory({ store, dataDir, ...history });
  } catch (error) {
    refusal(error);
    return undefined;
  }
}

/** Delays the error of a missing package until the part is used. Throws any other error immediately. */
function refusal(error: unknown): () => never {
  if (!isKnownError(error, "not_installed")) throw error;
  return () => {
    throw error;
  };
}
