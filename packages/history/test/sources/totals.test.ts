/** Tests that the sessions, calls and tokens of every agent are counted by the rules of the agent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { getSession, getUsage, listSessions, withSources, type LibraryConfig } from "../../src/index.ts";
import { discover } from "../../src/sources/discover.ts";
import { agentData, agentNames, temporaryFolder, type AgentData, type Tokens } from "./agent-data.ts";

async function configOf(data: AgentData): Promise<LibraryConfig> {
  if (data.name === "claude-desktop") vi.stubEnv("CLAUDE_CONFIG_DIR", join(data.folder, "home", ".claude"));
  const { config, problems } = await withSources({
    dataPath: data.roots,
    sources: [data.name],
    cacheFolder: join(temporaryFolder(), "cache"),
  });
  expect(problems).toEqual([]);
  return config;
}

describe.each(agentNames)("%s", (agent) => {
  it("a source finds all sessions of its agent", async () => {
    const data = agentData(agent);
    const config = await configOf(data);
    const { data: listed } = await listSessions({ ...config, limit: Infinity });
    const ids = [...listed.map(({ id }) => id), ...listed.flatMap(({ agentIds }) => agentIds)].sort();
    const wanted = data.sessions.map(({ id, cliSessionId }) => cliSessionId ?? id);
    expect(ids.filter((id) => wanted.includes(id))).toEqual(wanted.toSorted());
    if (agent !== "claude-desktop") expect(ids).toHaveLength(wanted.length);
    for (const session of data.sessions) {
      const found = listed.find(({ id }) => id === (session.cliSessionId ?? session.id));
      if (!found) {
        expect(session.parent, session.id).toBeTruthy();
        continue;
      }
      expect(found.source).toBe(data.name);
      if (session.title) expect(found.summary).toBe(session.title);
      if (!session.title && session.firstPrompt) expect(found.summary).toBe(session.firstPrompt);
      if (session.cwd) expect(found.projectPath).toBe(session.cwd);
      if (session.project?.startsWith("/")) expect(found.projectPath).toBe(session.project);
      if (session.gitBranch) expect(found.gitBranch).toBe(session.gitBranch);
      const { messages } = await getSession(found.id, config);
      const blocks = messages.flatMap((message) =>
        message.role !== undefined && Array.isArray(message.content) ? (message.content as { type: string }[]) : [],
      );
      const count = (type: string): number => blocks.filter((block) => block.type === type).length;
      if (session.toolCalls !== undefined) expect(count("tool_use"), `calls of ${session.id}`).toBe(session.toolCalls);
      if (session.toolResults !== undefined)
        expect(count("tool_result"), `results of ${session.id}`).toBe(session.toolResults);
    }
  });

  it("a source counts every token once", async () => {
    const data = agentData(agent);
    const config = await configOf(data);
    const { totals, bySession } = await getUsage({ ...config, timeZone: "UTC" });
    const wanted: Tokens = data.totals ?? { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, total: 0 };
    expect({
      input: totals.inputTokens,
      cacheRead: totals.cacheReadInputTokens,
      cacheWrite: totals.cacheCreationInputTokens,
      output: totals.outputTokens,
      reasoning: reasoningIn(config),
    }).toEqual({
      input: wanted.input,
      cacheRead: wanted.cacheRead,
      cacheWrite: wanted.cacheWrite,
      output: wanted.output,
      reasoning: wanted.reasoning,
    });
    for (const { id, cliSessionId, tokens } of data.sessions) {
      const children = data.sessions.filter(({ parent }) => parent === id).map((child) => child.tokens?.total ?? 0);
      const found = bySession.find(({ sessionId }) => sessionId === (cliSessionId ?? id));
      if (!found || !tokens) continue;
      const sum = found.inputTokens + found.outputTokens + found.cacheReadInputTokens + found.cacheCreationInputTokens;
      expect(sum, id).toBe(children.reduce((all, child) => all + child, tokens.total));
    }
  });
});

/** Adds up the reasoning tokens in the translated lines. Reports count them only as output. */
function reasoningIn(config: LibraryConfig): number {
  const calls = new Map<string, number>();
  for (const { path } of discover(config).files)
    for (const line of readFileSync(path, "utf8")
      .split("\n")
      .filter((text) => text !== "")) {
      const { type, message, data } = JSON.parse(line) as {
        type: string;
        message?: Call;
        data?: { message?: { message?: Call } };
      };
      const call = type === "progress" ? data?.message?.message : message;
      const tokens = call?.usage?.output_tokens_details?.reasoning_tokens;
      if (call?.id !== undefined && tokens !== undefined) calls.set(call.id, tokens);
    }
  return [...calls.values()].reduce((sum, tokens) => sum + tokens, 0);
}

interface Call {
  readonly id?: string;
  readonly usage?: { readonly output_tokens_details?: { readonly reasoning_tokens?: number } };
}
