import { existsSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type ClaudeCode, createClaudeCode, optionsOf } from "@skein/adapters/runtimes/claude-code";
import { createHooks } from "@skein/adapters/runtimes/claude-code/hooks";
import {
  type ClaudeSettings,
  type GuardedProxy,
  createClaudePolicy,
  createGuardedProxy,
} from "@skein/adapters/runtimes/claude-code/policy";
import { placesWith } from "@skein/adapters/tools";
import type { Records, Runtime } from "@skein/core";
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
      return new Map([["claude-code", runtime]]);
    },
    gate: {
      problem: async () => (problem = problem === undefined ? undefined : sdkProblem()) ?? walls.problem(),
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
        if (settings.sandbox === "off") return;
        for (const name of ["work", "config"])
          rmSync(ownFolder(tenant, name, sessionId), { recursive: true, force: true, maxRetries: 3 });
      },
    },
    async close() {
      await runtime?.close();
      await walls.close();
      (await proxy)?.close();
    },
  };
}

/** Where Claude Code finds its model unless it is told. */
const MODEL = "https://api.anthropic.com";

/** Why there is no Claude Code here; undefined if there is. Looked for and not loaded: it is large, and many servers never need it. */
export function sdkProblem(from: string = import.meta.url): string | undefined {
  const sdk = packageOf("claudeCode");
  const folders = createRequire(from).resolve.paths(sdk) ?? [];
  if (folders.some((path) => existsSync(join(path, sdk, "package.json")))) return undefined;
  return whatToInstall("claudeCode");
}
