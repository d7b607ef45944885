import { createRequire } from "node:module";
import { KnownError } from "@skein/protocol";

/**
 * Parts that users install only if they need them. `name` is the package, and `need` is the first half of the error for
 * a missing package.
 */
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

/** Returns the package of a part. */
export function packageOf(part: OptionalPart): string {
  return PARTS[part].name;
}

/** Returns a sentence that says what to install for a part. */
export function whatToInstall(part: OptionalPart): string {
  const { need, name, ...more } = PARTS[part];
  return `${need} the package ${name}: npm install ${"install" in more ? more.install : name}`;
}

/** Tells whether the package of a part is installed. */
export function hasPart(part: OptionalPart): boolean {
  try {
    createRequire(import.meta.url).resolve(packageOf(part));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND";
  }
}

/**
 * Loads each optional part when it is used. A linter rule forbids imports of optional parts in other files.
 * Decision 094 in docs/decisions has the reasons.
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

/** Loads a part. If its package is missing, throws `not_installed` with the command to install it. */
export async function optionalPart<Loaded>(part: OptionalPart, load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error, packageOf(part))) throw error;
    throw new KnownError("not_installed", whatToInstall(part), { cause: error });
  }
}

/**
 * Tells whether an error means that this package is missing. Node's error has the package in quotes. A different
 * missing module is a bug.
 */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && String(message).includes(`'${name}'`);
}
