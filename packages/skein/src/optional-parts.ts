import { createRequire } from "node:module";
import { KnownError } from "@skein/protocol";

/** Parts that users install only if they need them. `need` begins the sentence about a missing package; `name` is the package. */
const PARTS = {
  postgres: { need: "PostgreSQL stores need", name: "pg" },
  redis: { need: "A Redis bus needs", name: "@redis/client" },
  restate: { need: "The Restate engine needs", name: "@restatedev/restate-sdk" },
  telemetry: {
    need: "OpenTelemetry needs",
    name: "@opentelemetry/api",
    install:
      "@opentelemetry/{api,resources,sdk-trace,sdk-metrics,sdk-logs,exporter-trace-otlp-http,exporter-metrics-otlp-http,exporter-logs-otlp-http}",
  },
  mcp: { need: "MCP servers need", name: "@modelcontextprotocol/client" },
  server: { need: "createServer needs", name: "@skein/server" },
  sql: { need: "SQL needs", name: "@skein/sql" },
  history: { need: "Claude Code's files need", name: "@skein/history" },
  claudeCode: { need: "Claude Code sessions need", name: "@anthropic-ai/claude-agent-sdk" },
  bedrock: { need: "Models on Bedrock need", name: "@anthropic-ai/bedrock-sdk" },
  vertex: { need: "Models on Vertex AI need", name: "@anthropic-ai/vertex-sdk" },
} as const;

export type OptionalPart = keyof typeof PARTS;

/** The package of a part. */
export function packageOf(part: OptionalPart): string {
  return PARTS[part].name;
}

/** What to install for a part, in one sentence. */
export function whatToInstall(part: OptionalPart): string {
  const { need, name, ...more } = PARTS[part];
  return `${need} the package ${name}: npm install ${"install" in more ? more.install : name}`;
}

/** Whether the package of a part is installed here. */
export function hasPart(part: OptionalPart): boolean {
  try {
    createRequire(import.meta.url).resolve(packageOf(part));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND";
  }
}

/**
 * Every optional part of the library, loaded when it is used. No other file may import one (a linter rule). Reasons:
 * decision 094.
 */
export const loadPart = {
  postgresStore: () => optionalPart("postgres", () => import("@skein/adapters/stores/postgres")),
  postgresMemory: () => optionalPart("postgres", () => import("@skein/adapters/memories/postgres")),
  postgresFiles: () => optionalPart("postgres", () => import("@skein/adapters/files/postgres")),
  redisBus: () => optionalPart("redis", () => import("@skein/adapters/buses/redis")),
  restate: () => optionalPart("restate", () => import("@skein/adapters/engines/restate")),
  telemetry: () => optionalPart("telemetry", () => import("@skein/adapters/telemetry/opentelemetry")),
  mcp: () => optionalPart("mcp", () => import("@skein/adapters/mcp")),
  server: () => optionalPart("server", () => import("@skein/server")),
  sql: () => optionalPart("sql", () => import("@skein/sql/sandbox")),
  claudeHistory: () => optionalPart("history", () => import("./serve/history/history.ts")),
  bedrock: () => optionalPart("bedrock", () => import("@skein/adapters/models/bedrock")),
  vertex: () => optionalPart("vertex", () => import("@skein/adapters/models/vertex")),
  adoption: () => optionalPart("history", () => import("./adoption.ts")),
};

/** Loads a part. If its package is not installed, the error is a `not_installed` that says what to install. */
export async function optionalPart<Loaded>(part: OptionalPart, load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error, packageOf(part))) throw error;
    throw new KnownError("not_installed", whatToInstall(part), { cause: error });
  }
}

/** Node's error names the package in quotes. Any other missing module is a bug, and its error is not changed. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && String(message).includes(`'${name}'`);
}
