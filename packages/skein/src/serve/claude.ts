import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type ClaudeCode, createClaudeCode, optionsOf } from "@skein/adapters/runtimes/claude-code";
import { type AgentConfig, type ClaudeOptions, KnownError } from "@skein/protocol";
import type { Runtime } from "@skein/core";
import type { ClaudeGate } from "@skein/server";
import type { RuntimeParts } from "../host.ts";

export interface ClaudeDeps {
  readonly dataDir: string;
  /** Where children find the model. */
  readonly api: { readonly apiKey: string; readonly baseUrl: string | undefined };
}

/** Claude Code in this process: the runtime for its sessions, and what stands before it. */
export interface Claude {
  readonly runtimes: (parts: RuntimeParts) => ReadonlyMap<AgentConfig["runtime"], Runtime>;
  readonly gate: ClaudeGate;
  /** Ends the processes that are left. */
  close(): void;
}

export function createClaude({ dataDir, api }: ClaudeDeps): Claude {
  let runtime: ClaudeCode | undefined;
  const folder = (...names: readonly string[]): string => {
    const path = join(dataDir, "claude", ...names);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  };

  return {
    runtimes(parts) {
      runtime = createClaudeCode({
        ...parts,
        configDirOf: (tenant) => folder(tenant, "config"),
        apiEnv: {
          ANTHROPIC_API_KEY: api.apiKey,
          ...(api.baseUrl !== undefined && { ANTHROPIC_BASE_URL: api.baseUrl }),
        },
        async optionsOf(state, prompt) {
          const options = optionsOf(state, prompt);
          return { ...options, cwd: options.cwd ?? folder(state.tenant, "work") };
        },
      });
      return new Map([["claude-code", runtime]]);
    },
    gate: {
      problem: async () => sdkProblem(),
      admit: async (options) => refuseClosed(options),
      inherit: async () => {},
      forget: async () => {},
    },
    close: () => runtime?.close(),
  };
}

/** What would reach into this machine. */
const CLOSED = ["cwd", "add_dirs", "env", "settings", "plugins", "mcp_servers", "extra_args", "hooks"] as const;

function refuseClosed(options: Partial<ClaudeOptions>): Partial<ClaudeOptions> {
  const named = CLOSED.find((name) => Object.keys(options[name] ?? {}).length > 0);
  if (named !== undefined || options.permission_mode === "bypassPermissions")
    throw new KnownError("invalid", `${named ?? "permission_mode"}: The operator of this server has not opened this.`);
  return options;
}

const SDK = "@anthropic-ai/claude-agent-sdk";

/** Why there is no Claude Code here; undefined if there is. Looked for and not loaded: it is large, and many servers never need it. */
export function sdkProblem(from: string = import.meta.url): string | undefined {
  const folders = createRequire(from).resolve.paths(SDK) ?? [];
  if (folders.some((path) => existsSync(join(path, SDK, "package.json")))) return undefined;
  return `Claude Code is not installed here. The operator of this server can install it beside Skein: npm install ${SDK}.`;
}
