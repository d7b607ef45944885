import { mkdirSync } from "node:fs";
import { type KeyPolicy, type Records, type SandboxMode, askedByOptions, moreThan, useRefusal } from "@skein/core";
import { type ClaudeOptions, KnownError } from "@skein/protocol";
import { z } from "zod";
import type { ResolvedOptions } from "../options.ts";
import { createFolders } from "./folders.ts";
import {
  type Places,
  checkAgents,
  checkArguments,
  checkHooks,
  checkMcpServers,
  checkPermissionTool,
  checkPlugins,
  checkSettings,
  checkTools,
  checkVariables,
  closed,
  registered,
} from "./rules.ts";
import { putSecrets, takeSecrets } from "./secrets.ts";
import type { ClaudeSettings } from "./settings.ts";

export { type GuardedProxy, createGuardedProxy } from "../../../sandboxes/guarded-proxy.ts";
export { ClaudeSettings } from "./settings.ts";
export { CLAUDE_TOOLS } from "./tool-names.ts";

/** The API key and the session of a request. */
export interface PolicyRequest {
  readonly tenant: string;
  readonly sessionId: string;
  /** The name of the API key. The operator's rules use this name. */
  readonly key: string;
  /** True if the key has the scope `admin`. Only such a key may bypass permissions. */
  readonly isAdmin: boolean;
}

/** The operator's rules for API keys. */
export interface KeyRules {
  of(key: PolicyKey): KeyPolicy;
  /** Returns the sandbox mode that the key's sessions have now. */
  sandbox(key: PolicyKey): Promise<{ readonly mode: SandboxMode }>;
}
interface PolicyKey {
  readonly name: string;
  readonly tenant: string;
}

/**
 * Checks the options that a request passes to a child process. Reasons:
 * decision 081 in docs/decisions.
 */
export interface ClaudePolicy {
  /**
   * Rejects options that the operator has not allowed (`not_allowed`, `arg_not_allowed`), and invalid values
   * (`invalid`, `url_not_allowed`). Returns the options for the log, with real paths, and with placeholders for
   * secrets.
   */
  admit(options: Partial<ClaudeOptions>, request: PolicyRequest): Promise<Partial<ClaudeOptions>>;
  /**
   * Gives a fork the secrets of its parent, and the API key, sandbox and permissions that this policy has recorded for
   * its parent.
   */
  inherit(parentId: string, forkId: string, tenant: string): Promise<void>;
  /** Forgets the secrets of a deleted session. */
  forget(sessionId: string, tenant: string): Promise<void>;
  /**
   * Returns the options of a run. Replaces names by the operator's values, and placeholders by secrets. Checks all
   * options again, because the log may come from another server, and the policy may have changed.
   */
  resolve(options: ClaudeOptions, session: ResolvedSession): Promise<Resolved>;
}

interface ResolvedSession {
  readonly tenant: string;
  readonly sessionId: string;
  /** The session whose key's rules apply, if the session does not exist yet. */
  readonly rulesOf?: string | undefined;
}

export interface Resolved extends ResolvedOptions {
  /** Values that must not appear in reports about the child. */
  readonly secrets: readonly string[];
}

export interface ClaudePolicyDeps {
  readonly settings: ClaudeSettings;
  readonly records: Records;
  /** Returns the working folder for a session without a named folder. The policy creates this folder. */
  readonly defaultFolder: (tenant: string, sessionId: string) => string;
  /**
   * The folders of the server's data. A request must not name a folder that contains any of this data, or is inside of
   * one of these folders.
   */
  readonly ownData?: readonly string[];
  /** Addresses that requests may use, besides public addresses. */
  readonly places?: Places;
  /**
   * Returns the address of the proxy through which a child calls MCP servers of a request. The proxy checks the
   * resolved addresses.
   */
  readonly proxy?: () => Promise<string>;
  /** The host of the model, which children call without the proxy. */
  readonly modelHost?: string | undefined;
  /**
   * The rules of keys. Without them, every key may use everything that the operator allowed, and nothing runs in a
   * sandbox.
   */
  readonly rules?: KeyRules;
}

/** Data of a session that must not be in its log. */
const Kept = z.object({
  secrets: z.record(z.string(), z.string()).default({}),
  /** True if an admin key allowed the session to bypass permissions. */
  bypass: z.boolean().default(false),
  /** True if the latest option `sandbox` of the session enabled the sandbox. */
  sandboxed: z.boolean().default(false),
  /** The name of the key that created the session. The key's rules apply to the session. */
  key: z.string().default(""),
});
type Kept = z.infer<typeof Kept>;

const KIND = "claude_session";

export function createClaudePolicy(deps: ClaudePolicyDeps): ClaudePolicy {
  const { settings, records, places = {}, rules = NO_RULES } = deps;
  const ownHosts = hostsOf(settings, deps.modelHost);
  const folders = createFolders(settings.roots, settings.folders, deps.ownData);

  async function keptOf(tenant: string, sessionId: string): Promise<Kept> {
    const record = await records.get(tenant, KIND, sessionId);
    return Kept.parse(record?.value ?? {});
  }

  /** Returns the rules of a key, with the current sandbox mode. */
  async function modedRules(name: string, tenant: string): Promise<KeyPolicy & { readonly sandbox: SandboxMode }> {
    const key = { name, tenant };
    return { ...rules.of(key), sandbox: (await rules.sandbox(key)).mode };
  }

  /** Checks the rules that need no access to files or networks. */
  function check(options: Partial<ClaudeOptions>): void {
    checkTools(options);
    checkAgents(options, settings);
    checkPermissionTool(options);
    checkArguments(options, settings);
    checkVariables(options, settings);
    checkSettings(options, settings);
    checkPlugins(options, settings);
    checkMcpServers(options, settings, { ...places, ownHosts });
    checkHooks(options, places);
  }

  /** Rejects options that the rules of a key do not allow. */
  function checkRules(options: Partial<ClaudeOptions>, { of }: { readonly of: KeyPolicy }): void {
    const refusal = useRefusal(of, { runtime: "claude-code", ...askedByOptions(options) });
    if (refusal !== undefined) throw new KnownError("not_allowed", refusal);
  }

  async function placed(options: Partial<ClaudeOptions>, only: KeyPolicy["folders"]): Promise<Partial<ClaudeOptions>> {
    const { cwd, add_dirs, sandbox } = options;
    const all = (field: string, paths: readonly string[]): Promise<string[]> =>
      Promise.all(paths.map((path) => folders.place(field, path, only)));
    return {
      ...options,
      ...(cwd && { cwd: await folders.place("cwd", cwd, only) }),
      ...(add_dirs && { add_dirs: await all("add_dirs", add_dirs) }),
      ...(sandbox && {
        sandbox: { ...sandbox, allowed_paths: await all("sandbox.allowed_paths", sandbox.allowed_paths) },
      }),
    };
  }

  /** Returns the proxy variables for a child that calls MCP servers of a request. */
  async function proxied({ mcp_servers }: ClaudeOptions): Promise<Record<string, string>> {
    const isForeign = Object.values(mcp_servers ?? {}).some(({ type }) => type !== "stdio");
    if (!isForeign || !deps.proxy) return {};
    const url = await deps.proxy();
    const direct = ["127.0.0.1", "::1", "localhost", ...ownHosts].join(",");
    return { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: direct };
  }

  function mayBypass({ isAdmin, sandboxed }: { readonly isAdmin: boolean; readonly sandboxed: boolean }): void {
    if (!settings.bypassPermissions)
      throw closed("permission_mode", { what: "bypassPermissions", setting: "bypassPermissions" });
    if (!isAdmin) throw closed("permission_mode", { what: "bypassPermissions for keys without the scope admin" });
    if (!sandboxed) throw closed("permission_mode", { what: "bypassPermissions without the sandbox" });
  }

  return {
    async admit(options, { tenant, sessionId, key, isAdmin }) {
      check(options);
      const before = await keptOf(tenant, sessionId);
      const own = rules.of({ name: key, tenant });
      checkRules(options, { of: own });
      const isOther = before.key !== "" && before.key !== key;
      const more = isOther ? moreThan(await modedRules(before.key, tenant), await modedRules(key, tenant)) : undefined;
      if (more !== undefined)
        throw new KnownError(
          "not_allowed",
          `The key "${before.key}" began this session and may use ${more} that this key may not use. Continue with the key "${before.key}", or start a new session.`,
        );
      const sandboxed = options.sandbox ? options.sandbox.enabled : before.sandboxed;
      const bypass = options.permission_mode === "bypassPermissions";
      if (bypass) mayBypass({ isAdmin, sandboxed });
      const { kept, secrets } = takeSecrets(await placed(options, own.folders));
      const next: Kept = {
        secrets: { ...before.secrets, ...secrets },
        bypass: before.bypass || bypass,
        sandboxed,
        key: before.key || key,
      };
      const isNews = Object.keys(secrets).length > 0 || JSON.stringify(next) !== JSON.stringify(before);
      if (isNews) await records.put([{ tenant, kind: KIND, id: sessionId, value: next }]);
      return kept;
    },
    async inherit(parentId, forkId, tenant) {
      const [parent, fork] = await Promise.all([keptOf(tenant, parentId), keptOf(tenant, forkId)]);
      const value: Kept = {
        secrets: { ...parent.secrets, ...fork.secrets },
        bypass: parent.bypass || fork.bypass,
        sandboxed: parent.sandboxed || fork.sandboxed,
        key: fork.key || parent.key,
      };
      await records.put([{ tenant, kind: KIND, id: forkId, value }]);
    },
    async forget(sessionId, tenant) {
      await records.delete(tenant, KIND, sessionId);
    },
    async resolve(options, { tenant, sessionId, rulesOf }) {
      const kept = await keptOf(tenant, sessionId);
      const { key } = rulesOf === undefined ? kept : await keptOf(tenant, rulesOf);
      const whole = putSecrets(options, kept.secrets);
      check(whole);
      const own = await modedRules(key, tenant);
      checkRules(whole, { of: own });
      const bypass = options.permission_mode === "bypassPermissions";
      if (bypass) mayBypass({ isAdmin: kept.bypass, sandboxed: options.sandbox?.enabled ?? false });
      const { cwd, ...rest } = { ...whole, ...(await placed(whole, own.folders)) };
      const named = [cwd ?? [], rest.add_dirs, rest.sandbox?.allowed_paths ?? []].flat();
      const chosen = whole.settings ? settings.settings[whole.settings] : undefined;
      const servers = Object.entries(whole.mcp_servers ?? {});
      const registeredAs = (server: (typeof servers)[number][1]) =>
        server.type === "stdio" ? registered(server, settings.mcpServers) : undefined;
      const mcpServers = servers.map(([name, server]) => [name, { ...server, ...registeredAs(server) }]);
      const ownServers = servers.flatMap(([name, server]) => {
        const found = registeredAs(server);
        return found ? [[name, { reads: [], hosts: [], ...found }] as const] : [];
      });
      return {
        ...rest,
        cwd: cwd ?? made(deps.defaultFolder(tenant, sessionId)),
        settings: chosen,
        identities: Object.fromEntries(named.map((place) => [place, folders.identity("cwd", place)])),
        plugins: (whole.plugins ?? []).map((plugin) => ({ ...plugin, path: settings.plugins[plugin.name] ?? null })),
        ...(whole.mcp_servers && {
          mcp_servers: Object.fromEntries(mcpServers) as NonNullable<ClaudeOptions["mcp_servers"]>,
        }),
        env: {
          ...whole.env,
          ...(await proxied(whole)),
          // As root, Claude Code accepts this mode only with this variable.
          ...(bypass && { IS_SANDBOX: "1" }),
        },
        ownServers: Object.fromEntries(ownServers.map(([name, { reads, hosts }]) => [name, { reads, hosts }])),
        secrets: [...Object.values(kept.secrets), ...secretsOf(settings)],
        rules: own,
        readOnly: await folders.readOnly(),
      };
    },
  };
}

const NO_RULES: KeyRules = { of: () => ({}), sandbox: async () => ({ mode: "off" }) };

function made(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function secretsOf({ mcpServers }: ClaudeSettings): readonly string[] {
  return Object.values(mcpServers).flatMap((server) =>
    Object.values(server.type === "stdio" ? server.env : server.headers),
  );
}

/** Returns the hosts of the operator, which are called without the proxy. */
function hostsOf({ mcpServers }: ClaudeSettings, modelHost: string | undefined): readonly string[] {
  const servers = Object.values(mcpServers).flatMap((server) =>
    server.type === "stdio" ? [] : [new URL(server.url).hostname],
  );
  return [...servers, ...(modelHost === undefined ? [] : [modelHost])];
}
