/** Makes the data of each agent from fixtures in the agent's real format, with the totals that Skein must find. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { SourceName } from "../../src/sources/port/source.ts";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "..", "fixtures", "agents");

export interface Tokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  readonly total: number;
}

interface ExpectedSession {
  readonly id: string;
  readonly cliSessionId?: string;
  readonly title?: string | null;
  readonly cwd?: string | null;
  readonly project?: string;
  readonly parent?: string | null;
  readonly gitBranch?: string;
  readonly model?: string;
  readonly firstPrompt?: string;
  readonly toolCalls?: number;
  readonly toolResults?: number;
  readonly tokens?: Tokens | null;
}

export interface AgentData {
  readonly name: SourceName;
  /** A separate folder, which contains `home`, the roots and more. */
  readonly folder: string;
  readonly roots: readonly string[];
  readonly sessions: readonly ExpectedSession[];
  readonly totals: Tokens | undefined;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-agents-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function sqlite(path: string, sql: string): void {
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

interface Expected {
  readonly sessions: readonly ExpectedSession[];
  readonly totals: { readonly tokens?: Tokens };
}

const places: Readonly<Record<string, (folder: string) => readonly string[]>> = {
  "claude-desktop": (folder) => [join(folder, "Claude")],
  cursor: (folder) => [join(folder, "home", ".cursor"), join(folder, "state.vscdb")],
  kimi: (folder) => [join(folder, "kimi-cli"), join(folder, "kimi-code")],
};
const databases: Readonly<Record<string, readonly (readonly [sql: string, database: string])[]>> = {
  opencode: [["v1.sql", "opencode.db"]],
  "opencode-2": [["v2.sql", "opencode.db"]],
  copilot: [["session-store.sql", "session-store.db"]],
  "copilot-store": [["session-store.sql", "session-store.db"]],
  cursor: [["state-vscdb.sql", "state.vscdb"]],
  goose: [["sessions.sql", "sessions.db"]],
};

/** For an agent with several data formats, the key of the totals in `expected.json`. */
const totalsOf: Readonly<Record<string, string>> = {
  opencode: "v1.sql+storage",
  "opencode-2": "v2.sql",
  "opencode-0": "project",
  "copilot-store": "store",
};

export const agentNames = [
  "claude-code",
  "claude-desktop",
  "codex",
  "opencode",
  "opencode-2",
  "opencode-0",
  "pi",
  "gemini",
  "copilot",
  "copilot-store",
  "cursor",
  "grok",
  "qwen",
  "droid",
  "kimi",
  "amp",
  "goose",
] as const;

/** Returns the name of the source, which may have several data formats. */
function nameOf(agent: (typeof agentNames)[number]): SourceName {
  if (agent === "opencode-0" || agent === "opencode-2") return "opencode";
  return agent === "copilot-store" ? "copilot" : agent;
}

/** Puts the data of one agent into a folder. The default folder is removed after the test. */
export function agentData(agent: (typeof agentNames)[number], folder = temporaryFolder()): AgentData {
  const name = nameOf(agent);
  cpSync(join(fixtures, name), folder, { recursive: true });
  for (const [sql, database] of databases[agent] ?? [])
    sqlite(join(folder, database), readFileSync(join(folder, sql), "utf8"));
  if (name === "opencode") {
    // The folders of other data formats are removed.
    if (agent !== "opencode-0") rmSync(join(folder, "project"), { recursive: true });
    if (agent !== "opencode") rmSync(join(folder, "storage"), { recursive: true });
  }
  if (agent === "copilot-store")
    for (const part of ["session-state", "otel"]) rmSync(join(folder, part), { recursive: true });
  const whole = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")) as Expected & Record<string, Expected>;
  const part = totalsOf[agent];
  const expected = part === undefined ? whole : whole[part];
  if (!expected) throw new Error(`${agent} has no totals`);
  for (const file of ["expected.json", "v1.sql", "v2.sql", "session-store.sql", "state-vscdb.sql", "sessions.sql"])
    if (existsSync(join(folder, file))) rmSync(join(folder, file));
  // Sessions without times are ordered by the times of their files. All copies get one time, because they would differ
  // by milliseconds.
  const copied = new Date();
  for (const path of readdirSync(folder, { recursive: true })) utimesSync(join(folder, String(path)), copied, copied);
  const roots = places[agent]?.(folder) ?? [folder];
  return { name, folder, roots, sessions: expected.sessions, totals: expected.totals.tokens };
}
