/**
 * Tests that a line gives the same results in every valid form of JSON. Fast readers search for the bytes that an agent
 * writes, but a transcript may have gone through another program.
 */
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  getSession,
  getToolUsage,
  getUsage,
  listSessions,
  searchSessions,
  withSources,
  type LibraryConfig,
} from "../../src/index.ts";
import { conversation, createDataDirectory, sessionId, type Fields } from "../data-directory.ts";
import { agentData, agentNames, temporaryFolder, type AgentData } from "./agent-data.ts";

type Write = (value: unknown) => string;

const spaced: Write = (value) => withSpaces(value, ": ", ", ");
const escaped = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const spacedAndEscaped: Write = (value) => escaped(spaced(value));

const forms: Readonly<Record<string, Write>> = {
  "spaces after colons and commas": spaced,
  "spaces on both sides of colons and commas": (value) => withSpaces(value, " : ", "\t,  "),
  "escapes for characters beyond ASCII": (value) => escaped(JSON.stringify(value)),
  "spaces and escapes": spacedAndEscaped,
  "escaped slashes": (value) => JSON.stringify(value).replaceAll("/", "\\/"),
};

function withSpaces(value: unknown, colon: string, comma: string): string {
  const inner = (part: unknown): string => withSpaces(part, colon, comma);
  if (Array.isArray(value)) return `[${value.map(inner).join(comma)}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}${colon}${inner(part)}`);
  return `{${pairs.join(comma)}}`;
}

const noon = new Date("2026-11-01T12:00:00.000Z");

/** Writes every line in another form. A line without a time has the time of its file, so all files get one time. */
function rewrite(folder: string, write: Write): void {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const path of names.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name))) {
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, lines.map((line) => (isObject(line) ? write(JSON.parse(line)) : line)).join("\n"));
  }
  for (const name of names) utimesSync(join(folder, name), noon, noon);
}

/** Some fixtures have damaged lines. */
function isObject(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}

/** Everything that Skein finds in this data, except positions in the files. */
async function foundIn(folder: string, config: LibraryConfig): Promise<unknown> {
  const { data } = await listSessions({ ...config, limit: Infinity });
  const ids = data.map(({ id }) => id).toSorted();
  const found = {
    sessions: ids.map((id) => data.find((session) => session.id === id)),
    messages: await Promise.all(ids.map((id) => getSession(id, config))),
    usage: await getUsage({ ...config, timeZone: "UTC" }),
    tools: await getToolUsage(config),
    matches: await Promise.all(
      ["the", "uuid", "ä"].map(async (word) => (await searchSessions(word, { ...config, limit: 1000 })).data),
    ),
  };
  const moves = new Set(["path", "sizeBytes", "fileOffset"]);
  return JSON.parse(JSON.stringify(found).replaceAll(folder, "FOLDER"), (key, value: unknown) =>
    moves.has(key) ? undefined : value,
  );
}

/** A project with everything that is searched as bytes in Claude Code's files. */
function claudeProject(): { readonly folder: string; readonly config: LibraryConfig } {
  const data = createDataDirectory();
  const [first, second] = [conversation("2026-11-01T10:00:00.000Z"), conversation("2026-11-02T10:00:00.000Z")];
  const place = { cwd: "/work/täglich", version: "2.0.14", gitBranch: "maïn", isSidechain: undefined };
  // In these lines, the place and the time come after the message, and the message is the first key.
  const messageFirst = ({ message, ...rest }: Fields): Fields => ({ message, ...rest, ...place });
  const asked = messageFirst(first.user("Why is the uuid ä missing?"));
  const call = first.answer([{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "the usage" } }]);
  const failed = first.user([{ type: "tool_result", tool_use_id: "toolu_1", is_error: true, content: "no" }], {
    toolUseResult: { searchCount: 3, text: "the" },
  });
  const told = messageFirst(first.answer("Because."));
  data.session(sessionId(1), [
    { type: "summary", summary: "The lost title", leafUuid: told["uuid"] },
    { type: "cost-state", totalCostUSD: 1.5 },
    ...[asked, call, failed, told].map((line) => ({ ...line, sessionId: sessionId(1) })),
  ]);
  const other = [second.user("Second"), messageFirst(second.answer("The second answer"))];
  data.session(
    sessionId(2),
    other.map((line) => ({ ...line, sessionId: sessionId(2) })),
  );
  // Old versions wrote the summary of a session into the file of the next session.
  data.session(sessionId(3), [
    { type: "summary", summary: "The second title", leafUuid: other[1]?.["uuid"] },
    conversation("2026-11-03T10:00:00.000Z").user("Third", { sessionId: sessionId(3) }),
  ]);
  // In the old layout, only the lines of a subagent name its session.
  const side = conversation("2026-11-01T10:00:30.000Z", { isSidechain: true, sessionId: sessionId(1) });
  data.session("agent-a1234567", [side.user("Look for the cause"), messageFirst(side.answer("Found"))]);
  return { folder: data.root, config: data.config };
}

async function configOf(data: AgentData): Promise<LibraryConfig> {
  if (data.name === "claude-desktop") vi.stubEnv("CLAUDE_CONFIG_DIR", join(data.folder, "home", ".claude"));
  const cacheFolder = join(temporaryFolder(), "cache");
  return (await withSources({ dataPath: data.roots, sources: [data.name], cacheFolder })).config;
}

describe.each(Object.entries(forms))("lines with %s", (_, write) => {
  it("Claude Code's sessions have the same titles, projects, messages, usage and matches", async () => {
    const [usual, other] = [claudeProject(), claudeProject()];
    rewrite(usual.folder, JSON.stringify);
    rewrite(other.folder, write);
    const found = await foundIn(usual.folder, usual.config);
    expect(await foundIn(other.folder, other.config)).toEqual(found);
    expect(found).toMatchObject({
      sessions: [
        { summary: "The lost title", projectPath: "/work/täglich", gitBranch: "maïn", agentIds: ["a1234567"] },
        { summary: "The second title" },
        { summary: "Third" },
      ],
      tools: [{ name: "Bash", calls: 1, failed: 1 }],
    });
  });
});

describe.each(agentNames)("%s", (agent) => {
  it("lines with spaces and escapes give the same sessions, messages, usage and matches", async () => {
    const [usual, other] = [agentData(agent), agentData(agent)];
    rewrite(usual.folder, JSON.stringify);
    rewrite(other.folder, spacedAndEscaped);
    const found = await foundIn(usual.folder, await configOf(usual));
    expect(await foundIn(other.folder, await configOf(other))).toEqual(found);
  });
});
