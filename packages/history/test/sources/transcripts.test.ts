/** Tests the readable form of each agent's sessions. A person compared the snapshot files with the agents' data. */
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import {
  getAgentSession,
  getSession,
  listSessions,
  withSources,
  type LibraryConfig,
  type Message,
} from "../../src/index.ts";
import { agentData, agentNames, temporaryFolder } from "./agent-data.ts";

const BEGUN = Date.now() - 60_000;

afterEach(() => void vi.unstubAllEnvs());

test.each(agentNames)("%s: every message, call and result is read in the right order", async (agent) => {
  const data = agentData(agent);
  if (agent === "claude-desktop") vi.stubEnv("CLAUDE_CONFIG_DIR", join(data.folder, "home", ".claude"));
  const cacheFolder = join(temporaryFolder(), "cache");
  const { config } = await withSources({ dataPath: data.roots, sources: [data.name], cacheFolder });
  const { data: sessions } = await listSessions({ ...config, limit: Infinity });
  const pages = [];
  for (const { id } of sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1))) pages.push(await pageOf(id, config));
  await expect(pages.join("\n").replaceAll(data.folder, "FOLDER")).toMatchFileSnapshot(
    join("..", "fixtures", "transcripts", `${agent}.txt`),
  );
});

async function pageOf(id: string, config: LibraryConfig): Promise<string> {
  const { summary, projectPath, messages, agents } = await getSession(id, config);
  const page = [`# ${id}: ${summary}`, `in ${projectPath}`, ...messages.flatMap(linesOf)];
  for (const agent of agents) {
    const { messages: own } = await getAgentSession(agent.agentId, config);
    page.push(`## ${agent.agentId}, a subagent: ${agent.agentType}, ${agent.description}`, ...own.flatMap(linesOf));
  }
  return [...page, ""].join("\n");
}

function linesOf(message: Message): readonly string[] {
  const { role, content, timestamp } = message;
  // A line without a time gets the time of its file, which is the time of this test run.
  const time = timestamp.getTime() < BEGUN ? timestamp.toISOString() : "time of the file";
  const model = "model" in message && message.model !== "" ? ` ${message.model}` : "";
  const head = `${time} ${role ?? String(message.raw["type"])}${model}${message.isCompacted ? " (before a compaction)" : message.isActive ? "" : " (not on the thread)"}`;
  if (typeof content === "string") return [`${head}: ${shortened(content)}`];
  if (!Array.isArray(content)) return [head];
  return [head, ...content.map((block) => `    ${shortened(JSON.stringify(block))}`)];
}

function shortened(text: string): string {
  const line = text.replaceAll("\n", "⏎");
  return line.length > 160 ? `${line.slice(0, 160)}… (${line.length})` : line;
}
