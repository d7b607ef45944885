import { chmodSync, readFileSync } from "node:fs";
import { isDeadOwner, thisOwner } from "@skein/adapters/engines/owner";
import { type Store, queuedRun, runLines } from "@skein/core";
import type { Keys, Principal, ServerDeps, WallsState } from "@skein/server";
import { makeFolder } from "../make-folder.ts";
import { openFiles } from "../open-files.ts";
import { openStore } from "../open-store.ts";
import { loadPart } from "../optional-parts.ts";
import { storeAgents } from "./config-file.ts";
import { consoleFolder, openConsole } from "./console-files.ts";
import { firstKey } from "./first-key.ts";
import { explainKey, openPolicy, wallsState } from "./policy.ts";
import { createModelAdmin } from "./model-admin.ts";
import { namedSkills } from "./named-skills.ts";
import { createReport } from "./report.ts";
import { withSealedSecrets } from "./secrets-settings.ts";
import { type ServerParts, openParts } from "./server-parts.ts";
import type { RunningServer, StartOptions } from "./start-options.ts";
import { openTelemetry } from "./telemetry.ts";
import { createWebhookSender } from "./webhook-sender.ts";

const DEFAULT_MODEL = "claude-sonnet-5-5";

export async function startServer(given: StartOptions): Promise<RunningServer> {
  const { telemetry, log, close: closeTelemetry } = await openTelemetry(given);
  const options = { ...given, ...(log && { log }) };
  const { dataDir, storeUrl, code } = options;
  const { createKeys, createServer } = await loadPart.server();
  makeFolder(dataDir);
  chmodSync(dataDir, 0o700);
  const opened = await openStore(storeUrl, {
    // Without SKEIN_FILES, large texts stay in the store.
    files: options.filesUrl === undefined ? undefined : await openFiles(options.filesUrl, options.s3),
    report: createReport(options.log),
  });
  let close = async (): Promise<void> => {
    await opened.close();
    await closeTelemetry();
  };
  try {
    const store = await withSealedSecrets(opened, options.secrets);
    const keys = createKeys({ records: store.records });
    const policy = openPolicy(options, code, keys);
    const { rules, claude } = policy;
    const key = await firstKey(keys, options);
    rules.isShared();
    await storeAgents(code.agents, store.records);
    const parts = await openParts(store, { ...options, claudeSettings: claude, rules });
    close = async () => {
      await parts.stop();
      await parts.close();
      await closeTelemetry();
    };
    const walls = (): Promise<WallsState> => wallsState(rules);
    const deps = {
      ...serverDeps(options, { store, parts }),
      telemetry,
      policyOf: rules.of,
      hasKeyRules: (name: string) => rules.hasKey(name) || claude.keys.includes(name),
      caps: { of: rules.capsOf, agents: rules.cappedAgents },
      isShared: rules.isShared,
      ...(rules.capsRuns && {
        queuedRun: (sessionId: string) => queuedRun(store.records, sessionId),
        runLines: () => runLines(store.records),
      }),
      walls,
      explainKey: (key: Principal) => explainKey(key, policy),
    };
    const server = await createServer(deps);
    close = async () => {
      // While its runs are handed over, the server answers every request with 503, so that load balancers send no more.
      server.stop();
      await parts.stop();
      await server.close();
      await parts.close();
      await closeTelemetry();
    };
    const url = await server.listen(options);
    const { metricsPort } = options;
    const metricsUrl = metricsPort === undefined ? undefined : await server.listenForMetrics(metricsPort);
    const { description, simulated } = parts.model;
    const model = { description, simulated };
    const hasConsole = deps.console !== undefined;
    const { others } = parts;
    const notes = [...(key.note === undefined ? [] : [key.note]), ...(await notesAboutKeys(keys, policy, code))];
    const { driven } = parts.host;
    return { url, metricsUrl, key, model, hasConsole, others, notes, walls: (await walls()).brief, driven, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns a sentence for each key that has rules but does not exist. Its name is probably misspelled. */
async function notesAboutKeys(
  keys: Pick<Keys, "valid">,
  { claude }: ReturnType<typeof openPolicy>,
  { policy }: StartOptions["code"],
): Promise<readonly string[]> {
  const names = new Set((await keys.valid()).map(({ name }) => name));
  const lists = { "policy.keys": Object.keys(policy.keys), "claude.keys": claude.keys };
  return Object.entries(lists).flatMap(([place, named]) =>
    named
      .filter((name) => !names.has(name))
      .map((name) => `${place} names the key "${name}", which does not exist. "skein keys list" shows the keys.`),
  );
}

function serverDeps(options: StartOptions, { store, parts }: { store: Store; parts: ServerParts }): ServerDeps {
  const { host, sql, adoption, history, bus, files, claude, model } = parts;
  const { code } = options;
  return {
    store,
    sql,
    live: host.live,
    process: { owner: thisOwner(), isDead: isDeadOwner },
    reserve: host.engine.reserve,
    forget: host.forget,
    wake: host.engine.wake,
    driven: host.driven,
    drivingQueue: host.engine.queue,
    largeSessions: host.largeSessions,
    engineCheck: parts.engineCheck,
    apiProcesses: parts.apiProcesses,
    isWorker: options.engine?.role === "worker",
    bus,
    files,
    claude: claude?.gate,
    forgetSession: parts.workplaces.remove,
    auditDays: options.auditDays,
    runtimes: claude ? ["loop", "claude-code"] : ["loop"],
    adoption,
    history,
    console: openConsole(options.consoleFolder === undefined ? consoleFolder() : (options.consoleFolder ?? undefined)),
    toolNamed(name) {
      const tool = parts.tools.get(name);
      return tool && { name, description: tool.description, input_schema: tool.inputSchema };
    },
    skillsNamed: (names) => namedSkills(code.skills ?? [], names),
    tools: () =>
      [...code.tools.values()].map(({ name, description, inputSchema, policy }) => ({
        name,
        description,
        input_schema: inputSchema,
        policy,
      })),
    models: host.models,
    modelAdmin: createModelAdmin(options.openedToModels),
    defaultModel: DEFAULT_MODEL,
    description: {
      version: version(),
      store: options.storeUrl.split(":")[0] ?? "",
      model: model.description,
      simulated: model.simulated,
    },
    webhookSender: createWebhookSender({ allowedAddresses: options.allowedWebhookAddresses }),
    ...(options.webhookRetryMs && { webhookRetryMs: options.webhookRetryMs }),
    traceContent: options.traceContent,
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins,
    log: options.log,
    logRequests: options.logRequests,
    limits: { ...code.limits, ...options.limits },
    retention: { ...code.retention, ...options.retention },
  };
}

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
