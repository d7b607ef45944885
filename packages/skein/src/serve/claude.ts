import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  type ClaudeCode,
  abandonedSessions,
  createClaudeCode,
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
import { placesWith } from "@skein/adapters/tools";
import type { Records, Runtime, Store } from "@skein/core";
import type { AgentConfig } from "@skein/protocol";
import type { ClaudeGate } from "@skein/server";
import type { RuntimeParts } from "../host.ts";
import { packageOf, whatToInstall } from "../optional-parts.ts";
import { createServerWalls } from "./claude-walls.ts";
import { hookSecret } from "./hook-secret.ts";

export interface ClaudeDeps {
  readonly dataDir: string;
  readonly records: Records;
  /** What the operator has opened. */
  readonly settings: ClaudeSettings;
  /** Addresses that hooks and MCP servers may have although they are not public. */
  readonly allowedAddresses: readonly string[];
  /** Where children find the model. */
  readonly api: { readonly apiKey: string; readonly baseUrl: string | undefined };
}

/** Claude Code in this process: the runtime for its sessions, and what stands before it. */
export interface Claude {
  readonly runtimes: (parts: RuntimeParts) => ReadonlyMap<AgentConfig["runtime"], Runtime>;
  readonly gate: ClaudeGate;
  /** Ends the processes that are left. */
  close(): Promise<void>;
}

export function createClaude({ dataDir, records, settings, allowedAddresses, api }: ClaudeDeps): Claude {
  let runtime: ClaudeCode | undefined;
  let proxy: Promise<GuardedProxy> | undefined;
  let sweeping: NodeJS.Timeout | undefined;
  // Looked for again as long as it is missing: it may be installed meanwhile.
  let problem: string | undefined = "";
  const folder = (tenant: string, name: string): string => {
    const path = join(dataDir, "claude", tenant, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  };
  const places = placesWith(allowedAddresses);
  const walls = createServerWalls(settings, { api, places });
  // Behind walls every session has folders of its own: it must not see another one's.
  const ownFolder = (tenant: string, name: string, sessionId: string): string =>
    folder(tenant, settings.sandbox === "off" ? name : join(name, sessionId));
  const policy = createClaudePolicy({
    settings,
    records,
    defaultFolder: (tenant, sessionId) => ownFolder(tenant, "work", sessionId),
    places,
    proxy: async () => (await (proxy ??= createGuardedProxy(places))).url,
    modelHost: new URL(api.baseUrl ?? MODEL).hostname,
  });

  /** What Claude Code has of a session on this disk. */
  function removeFiles(tenant: string, sessionId: string): void {
    removeSessionFiles(join(dataDir, "claude", tenant, "config"), sessionId);
    if (settings.sandbox === "off") return;
    for (const name of ["work", "config"])
      rmSync(ownFolder(tenant, name, sessionId), { recursive: true, force: true, maxRetries: 3 });
  }

  /** Files of sessions that were deleted while this server was away, or by another one. */
  async function removeAbandoned(store: Store): Promise<void> {
    const tenants = existsSync(join(dataDir, "claude")) ? readdirSync(join(dataDir, "claude")) : [];
    for (const tenant of tenants)
      for (const sessionId of abandonedSessions(join(dataDir, "claude", tenant, "config"), Date.now()))
        if (!(await store.get(sessionId, { tenant }))) removeFiles(tenant, sessionId);
  }

  return {
    runtimes(parts) {
      runtime = createClaudeCode({
        ...parts,
        configDirOf: (tenant, sessionId) => ownFolder(tenant, "config", sessionId),
        walls: walls.open,
        apiEnv: {
          ANTHROPIC_API_KEY: api.apiKey,
          ...(api.baseUrl !== undefined && { ANTHROPIC_BASE_URL: api.baseUrl }),
        },
        executable: settings.executable,
        optionsOf: (state, prompt) => policy.resolve(optionsOf(state, prompt), state),
        hooksOf: ({ options: { hooks }, tenant, ...session }) =>
          createHooks({ ...session, hooks }, { ...parts, ...places, secret: () => hookSecret(records, tenant) }),
      });
      const sweep = (): void => void removeAbandoned(parts.store).catch(parts.report);
      sweeping = setInterval(sweep, SWEEP_MS).unref();
      sweep();
      return new Map([["claude-code", runtime]]);
    },
    gate: {
      problem: async () =>
        (problem = problem === undefined ? undefined : sdkProblem({ executable: settings.executable })) ??
        walls.problem(),
      admit: (options, { principal: { tenant, scopes }, sessionId }) =>
        policy.admit(options, { tenant, sessionId, isAdmin: scopes.includes("admin") }),
      opens: ({ scopes, name }) => scopes.includes("admin") || settings.keys.includes(name),
      bypass: settings.bypassPermissions,
      reserve: (options, { tenant }) => runtime?.reserve(tenant, options),
      async inherit(parentId, forkId, { tenant }) {
        await policy.inherit(parentId, forkId, tenant);
        if (settings.sandbox === "off") return;
        await walls.copyFolder(ownFolder(tenant, "work", parentId), ownFolder(tenant, "work", forkId));
      },
      async forget(sessionId, { tenant }) {
        runtime?.drop(sessionId);
        await policy.forget(sessionId, tenant);
        removeFiles(tenant, sessionId);
      },
    },
    async close() {
      clearInterval(sweeping);
      await runtime?.close();
      await walls.close();
      (await proxy)?.close();
    },
  };
}

/** How often files of sessions are looked for that were deleted while this server was away. */
const SWEEP_MS = 3600 * 1000;

/** Where Claude Code finds its model unless it is told. */
const MODEL = "https://api.anthropic.com";

/**
 * Why there is no Claude Code here; undefined if there is. Looked for and not loaded: it is large, and many servers never
 * need it. Its program is a package of its own for each platform, which npm leaves out with `--omit=optional`.
 */
export function sdkProblem({ executable, from = import.meta.url }: SdkPlace = {}): string | undefined {
  const sdk = packageOf("claudeCode");
  const folders = createRequire(from).resolve.paths(sdk) ?? [];
  const found = folders.map((path) => join(path, sdk)).find((path) => existsSync(join(path, "package.json")));
  if (found === undefined) return whatToInstall("claudeCode");
  const platform = `${process.platform}-${process.arch}`;
  const programs = ["", "-musl"].map((libc) => join(`${sdk}-${platform}${libc}`, "package.json"));
  const places = [...folders, join(found, "node_modules")];
  const isThere = places.some((path) => programs.some((program) => existsSync(join(path, program))));
  if (executable !== undefined || isThere) return undefined;
  return `Claude Code's program for ${platform} is not installed: npm install ${sdk} --include=optional`;
}

interface SdkPlace {
  /** Another program than the one that comes with the SDK. */
  readonly executable?: string | undefined;
  readonly from?: string;
}
