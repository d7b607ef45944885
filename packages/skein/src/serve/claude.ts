import { mkdirSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import {
  type ClaudeCode,
  type ClaudeCodeDeps,
  type OwnModels,
  createClaudeCode,
  namedModels,
  optionsOf,
  removeSessionFiles,
} from "@skein/adapters/runtimes/claude-code";
import { createHooks } from "@skein/adapters/runtimes/claude-code/hooks";
import {
  type ClaudeSettings,
  type GuardedProxy,
  createClaudePolicy,
  createGuardedProxy,
} from "@skein/adapters/runtimes/claude-code/policy";
import { removeFolder } from "@skein/adapters/sandboxes/remove-folder";
import { placesWith } from "@skein/adapters/tools";
import { type Records, type Runtime, mayRunClaude } from "@skein/core";
import { type AgentConfig, ClaudeOptions, KnownError, type OpenedNames, PermissionMode } from "@skein/protocol";
import type { ClaudeGate, Principal } from "@skein/server";
import type { RuntimeParts } from "../host.ts";
import type { OpenModel } from "../open-model.ts";
import { sdkProblem } from "./sdk-problem.ts";
import { createServerWalls } from "./claude-walls.ts";
import type { ServerPolicy } from "./policy.ts";
import { sweepAbandonedFiles } from "./abandoned-files.ts";
import { hookSecret } from "./hook-secret.ts";

export interface ClaudeDeps {
  readonly dataDir: string;
  /** Files and folders of the store and of generated files, which may be outside `dataDir`. */
  readonly storePlaces: readonly string[];
  readonly records: Records;
  /** What the operator has allowed. */
  readonly settings: ClaudeSettings;
  /** The rules for each key, including the mode of the sandbox. */
  readonly rules: ServerPolicy;
  /** Called if the operator's rules do not allow a session to run Claude Code. */
  readonly refused?: ClaudeCodeDeps["refused"];
  /** Addresses of hooks and MCP servers that are allowed in addition to public addresses. */
  readonly allowedAddresses: readonly string[];
  /** The address and the API key of the model, for child processes. */
  readonly api: OpenModel["api"];
  /** True if the model at `api` is the built-in simulation. */
  readonly simulated: boolean;
  /** Returns how Claude Code reaches a model with a separate address. */
  readonly reach: OwnModels["reach"];
  /** The token of a subscription, which Claude Code uses instead of the API key. */
  readonly oauth?: { readonly token: string; readonly baseUrl: string | undefined } | undefined;
}

/** Claude Code in this process, with its runtime and its gate, which checks requests before a session begins. */
export interface Claude {
  readonly runtimes: (parts: RuntimeParts) => ReadonlyMap<AgentConfig["runtime"], Runtime>;
  readonly gate: ClaudeGate;
  /** Ends the remaining processes. */
  close(): Promise<void>;
}

interface SessionPlace {
  readonly tenant: string;
  readonly sessionId: string;
}

export function createClaude(deps: ClaudeDeps): Claude {
  const { dataDir, records, settings, rules, allowedAddresses, api, oauth, simulated, reach } = deps;
  let runtime: ClaudeCode | undefined;
  let proxy: Promise<GuardedProxy> | undefined;
  let stopSweeping = (): void => {};
  // If Claude Code is missing, every request looks for it again, because it may be installed later.
  let problem: string | undefined = "";
  const folder = (tenant: string, name: string): string => {
    const path = join(dataDir, "claude", tenant, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  };
  const offers = createOffers();
  const places = placesWith(allowedAddresses);
  const model = { headers: headersOf({ api, oauth }), baseUrl: (oauth ?? api).baseUrl };
  const walls = createServerWalls(settings, { api: model, places });
  // Every session has separate folders, because a session must not see files of other sessions.
  const ownFolder = (tenant: string, name: string, sessionId: string): string => folder(tenant, join(name, sessionId));
  const removeFolders = async ({ tenant, sessionId }: SessionPlace): Promise<void> => {
    // A session without a sandbox has temporary files in this folder.
    removeSessionFiles(join(dataDir, "claude", tenant, "config", "tmp"), sessionId);
    for (const name of ["work", "config"]) await removeFolder(join(dataDir, "claude", tenant, name, sessionId));
  };
  const policy = createClaudePolicy({
    settings,
    records,
    defaultFolder: (tenant, sessionId) => ownFolder(tenant, "work", sessionId),
    ownData: [dataDir, ...deps.storePlaces],
    places,
    proxy: async () => (await (proxy ??= createGuardedProxy(places))).url,
    modelHost: new URL((oauth ?? api).baseUrl ?? MODEL).hostname,
    rules,
  });

  /** Removes the secrets and the folders of a session. */
  async function forget({ tenant, sessionId }: SessionPlace): Promise<void> {
    await policy.forget(sessionId, tenant);
    await removeFolders({ tenant, sessionId });
  }

  /** Returns a sentence that says why a key may not run Claude Code, and what to do. */
  async function refusal({ name, tenant, scopes }: Principal): Promise<string | undefined> {
    const sandbox = await rules.sandbox({ name, tenant });
    const sandboxProblem = sandbox.mode === "required" ? await walls.problem() : undefined;
    if (mayRunClaude({ scopes, isOpened: settings.keys.includes(name), sandbox, sandboxProblem })) return undefined;
    return sandboxProblem === undefined
      ? `Without a sandbox Claude Code runs commands as the server's user, so it needs a key with the scope admin. The operator can require the sandbox (SKEIN_SANDBOX=required), or allow Claude Code for this key: SKEIN_CLAUDE_KEYS="${name}".`
      : `Claude Code is off for this key: a sandbox is required, because ${sandbox.because}. ${sandboxProblem}`;
  }

  /** Throws if Claude Code cannot use a model in the options. */
  async function checkModels(options: Partial<ClaudeOptions>, tenant: string): Promise<void> {
    await Promise.all(namedModels(options).map((model) => reach(tenant, model)));
  }

  return {
    runtimes(parts) {
      runtime = createClaudeCode({
        ...parts,
        configDirOf: (tenant, sessionId) => ownFolder(tenant, "config", sessionId),
        walls: walls.open,
        ownModels: { reach, broker: walls.broker },
        apiEnv: credentials({ api, oauth }),
        simulated: simulated && !oauth,
        refused: deps.refused,
        executable: settings.executable,
        children: { ...childPoolOptions(settings), isShared: rules.isShared },
        optionsOf: (state, prompt, rulesOf) => policy.resolve(optionsOf(state, prompt), { ...state, rulesOf }),
        hooksOf: ({ options: { hooks }, tenant, ...session }) =>
          createHooks({ ...session, hooks }, { ...parts, ...places, secret: () => hookSecret(records, tenant) }),
      });
      const { store, report } = parts;
      stopSweeping = sweepAbandonedFiles({ folder: join(dataDir, "claude"), store, remove: removeFolders, report });
      return new Map([["claude-code", runtime]]);
    },
    gate: {
      problem: async () =>
        (problem = problem === undefined ? undefined : sdkProblem({ executable: settings.executable })),
      async admit(options, { principal: { tenant, name, scopes }, sessionId }) {
        await checkModels(options, tenant);
        return policy.admit(options, { tenant, sessionId, key: name, isAdmin: scopes.includes("admin") });
      },
      refusal,
      bypass: settings.bypassPermissions,
      hasSandboxRules: rules.hasSandboxRules,
      processes: async () => runtime?.figures(),
      async offer(options, { tenant, name, scopes }) {
        const request = { tenant, sessionId: crypto.randomUUID() };
        try {
          const admitted = await policy.admit(options, { ...request, key: name, isAdmin: scopes.includes("admin") });
          return await offers(JSON.stringify([tenant, name, admitted]), async () => {
            if (!runtime) throw new KnownError("closed", "The server is starting. Ask again.");
            return runtime.offer(request, await policy.resolve(ClaudeOptions.parse(admitted), request));
          });
        } finally {
          await forget(request);
        }
      },
      opened: ({ scopes }) => openedNames(settings, scopes.includes("admin")),
      reserve: (options, { tenant, name }) => runtime?.reserve(tenant, options, rules.of({ tenant, name })),
      async inherit(parentId, forkId, { tenant }) {
        await policy.inherit(parentId, forkId, tenant);
        await walls.copyFolder(ownFolder(tenant, "work", parentId), ownFolder(tenant, "work", forkId));
      },
      async forget(sessionId, { tenant }) {
        runtime?.drop(sessionId);
        await forget({ tenant, sessionId });
      },
    },
    async close() {
      stopSweeping();
      await runtime?.close();
      await walls.close();
      (await proxy)?.close();
    },
  };
}

function openedNames(settings: ClaudeSettings, isAdmin: boolean): OpenedNames {
  const bypass = settings.bypassPermissions && isAdmin;
  return {
    folders: Object.keys(settings.folders),
    settings: Object.keys(settings.settings),
    plugins: Object.keys(settings.plugins),
    mcp_servers: Object.keys(settings.mcpServers),
    env: settings.env,
    extra_args: settings.extraArgs,
    permission_modes: PermissionMode.options.filter((mode) => bypass || mode !== "bypassPermissions"),
  };
}

/** How long an offer (the tools, models and commands of a new session) is cached. Making an offer starts a process. */
const OFFER_MS = 60_000;
const MOST_OFFERS = 50;

/** Caches offers. Concurrent requests share the same offer. */
function createOffers(): <Offer>(key: string, ask: () => Promise<Offer>) => Promise<Offer> {
  const known = new Map<string, { readonly at: number; readonly offer: Promise<unknown> }>();
  return async <Offer>(key: string, ask: () => Promise<Offer>) => {
    const found = known.get(key);
    if (found && Date.now() - found.at < OFFER_MS) return found.offer as Promise<Offer>;
    const offer = ask();
    known.delete(key);
    known.set(key, { at: Date.now(), offer });
    // A failed offer is removed from the cache.
    offer.catch(() => known.delete(key));
    for (const oldest of known.keys()) {
      if (known.size <= MOST_OFFERS) break;
      known.delete(oldest);
    }
    return offer;
  };
}

/**
 * Returns the environment variables with the address and exactly one credential. With several credentials, Claude Code
 * would ask which of them it must use.
 */
function credentials({ api, oauth }: Pick<ClaudeDeps, "api" | "oauth">): Readonly<Record<string, string>> {
  const { baseUrl } = oauth ?? api;
  const address = baseUrl === undefined ? {} : { ANTHROPIC_BASE_URL: baseUrl };
  if (oauth) return { ...address, CLAUDE_CODE_OAUTH_TOKEN: oauth.token };
  return api.authToken === undefined
    ? { ...address, ANTHROPIC_API_KEY: api.apiKey }
    : { ...address, ANTHROPIC_AUTH_TOKEN: api.authToken };
}

/** Returns the credential of `credentials` as headers, for calls that Skein forwards for a process. */
function headersOf({ api, oauth }: Pick<ClaudeDeps, "api" | "oauth">): Readonly<Record<string, string>> {
  const token = oauth?.token ?? api.authToken;
  return token === undefined ? { "x-api-key": api.apiKey } : { authorization: `Bearer ${token}` };
}

function childPoolOptions({ processes }: ClaudeSettings): NonNullable<ClaudeCodeDeps["children"]> {
  const { running = 32, idle = 4, ahead = 1, idleMinutes = 10, memoryMb } = processes;
  return {
    maxRunning: running,
    maxIdle: idle,
    maxAhead: ahead,
    idleMs: idleMinutes * 60_000,
    // Claude Code gets half of the memory. The rest is for this server, its store and the commands of sessions.
    maxMemoryBytes: memoryMb === undefined ? Math.floor(totalmem() / 2) : memoryMb * 1024 * 1024,
  };
}

/** The address of the model API that Claude Code calls by default. */
const MODEL = "https://api.anthropic.com";
