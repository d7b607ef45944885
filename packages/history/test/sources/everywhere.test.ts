/** Tests watching, archiving, usage, search and export with sessions of agents other than Claude Code. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test, vi } from "vitest";
import {
  archive,
  buildIndex,
  exportAllSessions,
  exportSession,
  getSession,
  getUsage,
  listSessions,
  restoreSession,
  searchSessions,
  verify,
  watch,
  withArchive,
  withCarried,
  withSources,
  type LibraryConfig,
} from "../../src/index.ts";
import { agentTitles, speakerOf, type SourceName } from "../../src/sources/port/source.ts";
import { agentData, agentNames, temporaryFolder, type AgentData } from "./agent-data.ts";

async function libraryOf(
  data: readonly AgentData[],
  cacheFolder = join(temporaryFolder(), "cache"),
  lines: "all" | "as-needed" = "as-needed",
): Promise<LibraryConfig> {
  return (await withSources({ dataPath: data.flatMap(({ roots }) => roots), cacheFolder, lines })).config;
}

const codexLine = (text: string): string =>
  `${JSON.stringify({
    timestamp: "2026-08-20T10:00:00.000Z",
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  })}\n`;

function rolloutIn(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return join(folder, names.find((name) => name.endsWith("0a.jsonl")) ?? "");
}

test("watch reports a line that Codex appends", async () => {
  const data = agentData("codex");
  const cache = join(temporaryFolder(), "cache");
  const stop = new AbortController();
  const config = await libraryOf([data], cache, "all");
  const refresh = async (): Promise<LibraryConfig> => await libraryOf([data], cache, "all");
  const seen: string[] = [];
  const timer = setTimeout(() => appendFileSync(rolloutIn(data.folder), codexLine("written while watched")), 300);
  for await (const event of watch({ ...config, signal: stop.signal, refresh })) {
    seen.push(JSON.stringify(event));
    if (seen.some((text) => text.includes("written while watched"))) break;
  }
  clearTimeout(timer);
  expect(seen.join("")).toContain("0198c0de-0000-7000-8000-00000000000a");
});

test("the archive keeps deleted sessions of Codex, and a session that still exists is listed once", async () => {
  const data = agentData("codex");
  const cache = join(temporaryFolder(), "cache");
  const archiveFolder = join(temporaryFolder(), "archive");
  const before = (await listSessions({ ...(await libraryOf([data], cache)), limit: Infinity })).data;
  await archive({ ...(await libraryOf([data], cache, "all")), archiveFolder });
  // The sessions are translated again when they are needed. Until then, only the archive contains their lines.
  rmSync(cache, { recursive: true, force: true });
  const again = await withArchive({ ...(await libraryOf([data], cache)), archiveFolder });
  expect((await listSessions({ ...again, limit: Infinity })).data.map(({ id }) => id)).toEqual(
    before.map(({ id }) => id),
  );
  rmSync(rolloutIn(data.folder));
  const later = await withArchive({ ...(await libraryOf([data], cache)), archiveFolder });
  const { data: left } = await listSessions({ ...later, limit: Infinity });
  // If the parent of a subagent is gone, the subagent is listed as a session.
  expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)));
  expect(new Set(left.map(({ source }) => source))).toEqual(new Set(["codex"]));
});

test("the archive keeps the sessions of an agent whose folder was deleted", async () => {
  const { folder } = agentData("codex");
  const places = { env: { CODEX_HOME: folder }, homes: [temporaryFolder()], platform: process.platform };
  const cacheFolder = join(temporaryFolder(), "cache");
  const archiveFolder = join(temporaryFolder(), "archive");
  const found = async (): Promise<LibraryConfig> =>
    withArchive({ ...(await withSources({ places, sources: ["codex"], cacheFolder })).config, archiveFolder });
  await archive({ ...(await found()), archiveFolder });
  const listed = async (): Promise<readonly string[]> =>
    (await listSessions({ ...(await found()), limit: Infinity })).data.map(({ id, source }) => `${source} ${id}`);
  const before = await listed();
  const { totals } = await getUsage({ ...(await found()), timeZone: "UTC" });
  for (const part of ["sessions", ""]) {
    rmSync(join(folder, part), { recursive: true });
    expect(await listed()).toEqual(before);
    expect((await getUsage({ ...(await found()), timeZone: "UTC" })).totals).toEqual(totals);
  }
  await expect(restoreSession("0198c0de-0000-7000-8000-00000000000a", { archiveFolder })).rejects.toThrow(
    "is a session of Codex, and nothing is written into the folders of other agents",
  );
});

test("search, the index and the five-hour blocks of usage include every agent, and `sources` selects agents", async () => {
  const agents = [agentData("codex"), agentData("opencode"), agentData("gemini"), agentData("pi")];
  const config = await libraryOf(agents);
  const { blocks, bySource, totals } = await getUsage({ ...config, timeZone: "UTC" });
  expect(bySource.map(({ source }) => source).toSorted()).toEqual(["codex", "gemini", "opencode", "pi"]);
  const sum = (rows: readonly { readonly outputTokens: number }[]): number =>
    rows.reduce((all, { outputTokens }) => all + outputTokens, 0);
  expect(sum(blocks)).toBe(totals.outputTokens);
  await buildIndex(config);
  const found = await searchSessions("ls", { ...config, limit: 100 });
  expect(new Set(found.data.map(({ source }) => source)).size).toBeGreaterThan(1);
  const chosen = await searchSessions("ls", { ...config, sources: ["pi"], limit: 100 });
  expect(new Set(chosen.data.map(({ source }) => source))).toEqual(new Set(["pi"]));
  const only = await getUsage({ ...config, sources: ["codex"], timeZone: "UTC" });
  expect(only.totals).toEqual(expect.objectContaining({ outputTokens: sum(bySource.filter(isCodex)) }));
});

function isCodex({ source }: { readonly source: string }): boolean {
  return source === "codex";
}

test("a list uses the time in a session's last line, even if the line is very long", async () => {
  const root = join(temporaryFolder(), ".codex");
  const id = (n: number): string => `0198c0de-0000-7000-8000-00000000000${n}`;
  const write = (n: number, ...lines: readonly string[]): void => {
    const path = join(root, "sessions", "2026", "08", "20", `rollout-2026-08-20T10-00-00-${id(n)}.jsonl`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, lines.join(""));
  };
  write(1, codexLine("old"), codexLine("long ".repeat(20_000)));
  write(2, codexLine("new").replace("2026-08-20", "2026-08-21"));
  const { config } = await withSources({ dataPath: root, cacheFolder: join(root, "..", "cache"), lines: "as-needed" });
  const { data } = await listSessions({ ...config, limit: 1 });
  expect(data.map((session) => session.id)).toEqual([id(2)]);
});

test("a session with future times is listed first, counted once and hides no other session", async () => {
  const data = agentData("codex");
  const path = rolloutIn(data.folder);
  const present = await libraryOf([data]);
  const whole = await getUsage({ ...present, timeZone: "UTC" });
  const before = await listSessions({ ...present, limit: Infinity });
  appendFileSync(path, codexLine("from tomorrow").replace("2026-08-20", "2199-01-01"));
  const future = new Date("2199-01-02T00:00:00Z");
  utimesSync(path, future, future);
  expect(statSync(path).mtimeMs).toBeGreaterThan(Date.now());
  const config = await libraryOf([data]);
  const { data: sessions } = await listSessions({ ...config, limit: Infinity });
  expect(sessions[0]?.lastActivityAt.getUTCFullYear()).toBe(2199);
  const ids = (data: readonly { readonly id: string }[]): readonly string[] => data.map(({ id }) => id).sort();
  expect(ids(sessions)).toEqual(ids(before.data));
  expect((await getUsage({ ...config, timeZone: "UTC" })).totals).toEqual(whole.totals);
});

test("if several agents claim a folder, each session is read once, as a session of the agent that wrote it", async () => {
  const agents = [agentData("codex"), agentData("pi")] as const;
  const shared = temporaryFolder();
  for (const { roots } of agents) for (const root of roots) cpSync(root, shared, { recursive: true });
  const env = { CODEX_HOME: shared, PI_CODING_AGENT_DIR: shared };
  const places = { env, homes: [temporaryFolder()], platform: process.platform };
  const cacheFolder = join(temporaryFolder(), "cache");
  const sources = ["codex", "pi"] as const;
  const { config, problems } = await withSources({ places, sources, cacheFolder });
  expect(problems).toEqual([]);
  const apart = await listSessions({ ...(await libraryOf(agents)), limit: Infinity });
  const together = await listSessions({ ...config, limit: Infinity });
  const named = ({ data }: typeof apart): readonly string[] => data.map(({ source, id }) => `${source} ${id}`).sort();
  expect(named(together)).toEqual(named(apart));
  const { totals } = await getUsage({ ...config, timeZone: "UTC" });
  expect(totals).toEqual((await getUsage({ ...(await libraryOf(agents)), timeZone: "UTC" })).totals);
});

test("a transcript of Claude Desktop is never a session of Claude Code, even if only Claude Code is requested", async () => {
  const { folder } = agentData("claude-desktop");
  const home = join(folder, "home", ".claude");
  const own = join(home, "projects", "-srv-demo", "77777777-7777-4777-8777-777777777777.jsonl");
  const line = {
    type: "user",
    uuid: "u1",
    message: { role: "user", content: "Mine" },
    timestamp: "2026-09-02T00:00:00Z",
  };
  writeFileSync(own, `${JSON.stringify(line)}\n`);
  vi.stubEnv("CLAUDE_CONFIG_DIR", home);
  const env = { CLAUDE_CONFIG_DIR: home, XDG_CONFIG_HOME: folder };
  const places = { env, homes: [temporaryFolder()], platform: "linux" as const };
  const idsOf = async (sources?: readonly SourceName[]): Promise<readonly string[]> => {
    const cacheFolder = join(temporaryFolder(), "cache");
    const { config } = await withSources({ places, cacheFolder, ...(sources && { sources }) });
    return (await listSessions(config)).data.map(({ id, source }) => `${source} ${id.slice(0, 4)}`).toSorted();
  };
  const all = await idsOf(["claude-code", "claude-desktop"]);
  expect(all).toEqual(["claude-code 7777", "claude-desktop 4444", "claude-desktop 6666"]);
  expect(await idsOf()).toEqual(all);
  expect([...(await idsOf(["claude-code"])), ...(await idsOf(["claude-desktop"]))]).toEqual(all);
  // Claude Code has no transcripts here, so this is an error, even with data of Claude Desktop.
  rmSync(home, { recursive: true });
  await expect(idsOf(["claude-code"])).rejects.toThrow("There is no Claude Code data directory");
  vi.unstubAllEnvs();
});

test("a root is read once, even if several paths lead to it or another root contains it", async () => {
  const [codex, opencode, pi] = [agentData("codex"), agentData("opencode"), agentData("pi")];
  const elsewhere = temporaryFolder();
  const link = join(elsewhere, "link");
  symlinkSync(codex.folder, link);
  const idsIn = async (...dataPath: readonly string[]): Promise<readonly string[]> => {
    const { config } = await withSources({ dataPath, cacheFolder: temporaryFolder() });
    return (await listSessions({ ...config, limit: Infinity })).data.map(({ id }) => id);
  };
  const threads = await idsIn(codex.folder);
  expect(await idsIn(codex.folder, `${codex.folder}/`, relative(process.cwd(), codex.folder), link)).toEqual(threads);
  expect(await idsIn(link, codex.folder)).toEqual(threads);
  const sessions = await idsIn(opencode.folder);
  expect(await idsIn(join(opencode.folder, "opencode.db"), opencode.folder)).toEqual(sessions);
  expect(await idsIn(pi.folder, join(pi.folder, "sessions"))).toEqual(await idsIn(pi.folder));
  // The inner root has sessions that the outer root does not have, so both are read.
  const inner = join(opencode.folder, "inner");
  cpSync(join(opencode.folder, "opencode.db"), join(inner, "opencode.db"));
  expect((await idsIn(opencode.folder, inner)).length).toBeGreaterThan(sessions.length);
});

test("if a given root has no data of the requested agent, the error contains the agent and the root", async () => {
  const [codex, empty, cacheFolder] = [agentData("codex"), temporaryFolder(), temporaryFolder()];
  const open = async (dataPath: string, sources?: readonly SourceName[]) =>
    await withSources({ dataPath: [...codex.roots, dataPath], cacheFolder, ...(sources && { sources }) });
  const missing = join(empty, "missing");
  await expect(open(missing)).rejects.toThrow(`There is no data of a coding agent at ${missing}`);
  await expect(open(missing, ["claude-code"])).rejects.toThrow(`There is no data of Claude Code at ${missing}`);
  await expect(withSources({ dataPath: empty, cacheFolder, sources: ["pi"] })).rejects.toThrow(
    `There is no data of pi at ${empty}`,
  );
  const { config, problems } = await open(empty);
  const message = expect.stringContaining("does not look like the data of a known agent");
  expect(problems).toEqual([{ source: "claude-code", path: empty, message }]);
  expect((await listSessions(config)).data.length).toBeGreaterThan(0);
});

test("if a folder inside the given root has data of an agent, the problem contains the folder and the agent", async () => {
  const { folder } = agentData("kimi");
  const codex = join(folder, "codex");
  cpSync(agentData("codex").folder, codex, { recursive: true });
  mkdirSync(join(folder, "notes"));
  const { problems } = await withSources({ dataPath: folder, cacheFolder: temporaryFolder() });
  const kimi = ["kimi-cli", "kimi-code"].map((name) => `${join(folder, name)} (Kimi)`);
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringMatching(/ as Claude Code's\. Did you mean [^?]+\?$/),
  ]);
  expect(problems[0]?.message).toContain(`Did you mean ${codex} (Codex) or ${kimi.join(" or ")}?`);
});

test("a file of the wrong agent is reported as damage, and comes last in every list", async () => {
  const [codex, pi] = [agentData("codex"), agentData("pi")];
  const foreign = join(
    codex.folder,
    "sessions/2026/08/21/rollout-2026-08-22T00-00-00-aaaa0000-0000-7000-8000-00000000000f.jsonl",
  );
  const names = readdirSync(pi.folder, { recursive: true, encoding: "utf8" });
  cpSync(join(pi.folder, names.find((name) => name.endsWith(".jsonl")) ?? ""), foreign);
  const config = await libraryOf([codex]);
  const whole = await listSessions(await libraryOf([agentData("codex")]));
  const ids = whole.data.map(({ id }) => id);
  for (const _call of [1, 2])
    expect((await listSessions(config)).data.map(({ id }) => id)).toEqual([
      ...ids,
      "aaaa0000-0000-7000-8000-00000000000f",
    ]);
  const { totals } = await getUsage({ ...config, timeZone: "UTC" });
  expect(totals.calls).toBe(6);
  const { damage } = await verify(config);
  expect(damage.map(({ message }) => message)).toEqual([
    `no record of Codex in it: is it of another agent, or of a newer version? (translated from ${foreign})`,
  ]);
});

test("if an agent reports only a sum of calls, reports and exported pages do not use the higher price for long calls", async () => {
  const root = temporaryFolder();
  const folder = join(root, "session-state", "c0000000-0000-4000-8000-00000000000f");
  mkdirSync(folder, { recursive: true });
  const used = { inputTokens: 400_000, outputTokens: 100_000, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const at = { timestamp: "2026-10-04T08:00:00.000Z" };
  const events = [
    { type: "session.start", id: "e1", data: { context: { cwd: "/srv/demo" } }, ...at },
    { type: "user.message", id: "e2", data: { content: "Go" }, ...at },
    { type: "session.shutdown", id: "e3", data: { modelMetrics: { "claude-sonnet-4.5": { usage: used } } }, ...at },
  ];
  writeFileSync(join(folder, "events.jsonl"), events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  const { config } = await withSources({
    dataPath: root,
    sources: ["copilot"],
    cacheFolder: join(root, "cache"),
    lines: "as-needed",
  });
  // A million tokens cost $3 (input) and $15 (output). In a call with more than 200,000 input tokens, they cost $6 and
  // $22.50.
  expect((await getUsage({ ...config, timeZone: "UTC" })).totals.costUsd).toBeCloseTo(2.7, 6);
  const page = await exportSession(0, "html", config);
  expect(page).toContain("<dt>Cost</dt><dd>$2.70</dd>");
  const { mirrors: _counters, ...lines } = config;
  expect((await getUsage({ ...lines, timeZone: "UTC", cacheFolder: null })).totals.costUsd).toBeCloseTo(2.7, 6);
});

test("if several agents worked in a folder, it is one project", async () => {
  const config = await libraryOf([agentData("codex"), agentData("opencode"), agentData("pi")]);
  const { data } = await listSessions({ ...config, workspace: "/srv/demo", limit: Infinity });
  expect(new Set(data.map(({ source }) => source))).toEqual(new Set(["codex", "opencode", "pi"]));
  const { byProject } = await getUsage({ ...config, timeZone: "UTC" });
  expect(byProject.filter(({ projectPath }) => projectPath === "/srv/demo")).toHaveLength(1);
});

test("before a session is converted for Claude Code, missing files that its tool calls name are reported", async () => {
  const data = agentData("codex");
  const here = join(temporaryFolder(), "here.ts");
  writeFileSync(here, "");
  const patch = (call_id: string, path: string): string =>
    `${JSON.stringify({
      timestamp: "2026-08-20T10:00:00.000Z",
      type: "response_item",
      payload: { type: "custom_tool_call", call_id, name: "apply_patch", input: `*** Update File: ${path}\n@@` },
    })}\n`;
  const path = rolloutIn(data.folder);
  const config = await libraryOf([data]);
  const id = "0198c0de-0000-7000-8000-00000000000a";
  const missingIn = async (library: LibraryConfig): Promise<number> =>
    await withCarried(await getSession(id, library), async ({ left }) =>
      Promise.resolve(left.find(({ what }) => /^missing files?/.test(what))?.count ?? 0),
    );
  const before = await missingIn(config);
  appendFileSync(path, patch("p1", here) + patch("p2", "not/there.ts") + patch("p3", "not/there.ts"));
  expect(await missingIn(await libraryOf([data]))).toBe(before + 1);
});

test.each(agentNames)(
  "sessions of %s are exported as HTML, Markdown and JSON with the name of their agent",
  async (agent) => {
    const data = agentData(agent);
    const config = await libraryOf([data]);
    const { data: sessions } = await listSessions(config);
    expect(sessions.length).toBeGreaterThan(0);
    for (const { id, source } of sessions) {
      const [page, markdown, json] = [
        await exportSession(id, "html", config),
        await exportSession(id, "markdown", config),
        await exportSession(id, "json", config),
      ];
      expect(page).toContain(`<dt>Agent</dt><dd>${agentTitles[source]}`);
      const speakers = [...page.matchAll(/<section class="assistant[^>]*><h3>([A-Z][\w ]*?) </gi)].map(
        ([, name]) => name,
      );
      expect(new Set(speakers)).toEqual(new Set(speakers.length > 0 ? [speakerOf(source)] : []));
      if (!source.startsWith("claude")) expect(page).not.toContain("<h3>Claude");
      expect(markdown).toContain(`| Agent | ${agentTitles[source]}`);
      expect(JSON.parse(json)).toMatchObject({ id, source });
    }
  },
);

test("sessions of two agents with equal ids are exported into separate files", async () => {
  vi.stubEnv("CLAUDE_CONFIG_DIR", temporaryFolder());
  const config = await libraryOf([agentData("claude-desktop"), agentData("claude-code")]);
  const names: string[] = [];
  for await (const { sessionId, fileName } of exportAllSessions("markdown", config))
    if (sessionId.startsWith("4444")) names.push(fileName);
  expect(names).toEqual(["44444444-4444-4444-8444-444444444444.md", "44444444-4444-4444-8444-444444444444-2.md"]);
  vi.unstubAllEnvs();
});

test.each(agentNames)("the exported page and the usage report of %s have equal tokens", async (agent) => {
  const data = agentData(agent);
  if (agent === "claude-desktop") vi.stubEnv("CLAUDE_CONFIG_DIR", join(data.folder, "home", ".claude"));
  const config = await libraryOf([data]);
  const { bySession } = await getUsage({ ...config, timeZone: "UTC" });
  const { data: sessions } = await listSessions({ ...config, limit: Infinity });
  const pages = new Map<string, readonly number[]>();
  for (const { id } of sessions) {
    const page = await exportSession(id, "html", { ...config, includeAgents: true });
    const text = /<dt>Tokens<\/dt><dd>([^<]*)</.exec(page)?.[1];
    if (text !== undefined)
      pages.set(
        id,
        (text.match(/\d[\d,]*(?= )/g) ?? []).map((part) => Number(part.replace(/,/g, ""))),
      );
  }
  // A report counts copied calls only in the parent of a fork. The page of a fork shows the whole conversation, so
  // forks are left out.
  const isFork = (id: string): boolean => /^(ses_f|ses_v2|019a0000-.*2)$/.test(id);
  const own = [...pages].filter(([id]) => !isFork(id));
  expect(own.length + (agent === "cursor" ? 1 : 0)).toBeGreaterThan(0);
  const counted = bySession
    .filter(({ sessionId }) => !isFork(sessionId))
    .map((session): readonly [string, readonly number[]] => {
      const { inputTokens, cacheCreationInputTokens, cacheReadInputTokens, outputTokens } = session;
      const input = inputTokens + cacheCreationInputTokens + cacheReadInputTokens;
      return [session.sessionId, input === 0 ? [outputTokens] : [input, cacheReadInputTokens, outputTokens]];
    });
  expect(new Map(own)).toEqual(new Map(counted));
  vi.unstubAllEnvs();
});

test("a list has the order of the sessions' last activity before and after the index is built", async () => {
  const config = await libraryOf(agentNames.filter((name) => name !== "claude-desktop").map((name) => agentData(name)));
  const order = async (library: LibraryConfig): Promise<readonly string[]> =>
    (await listSessions({ ...library, limit: 100 })).data.map(({ id }) => id);
  const first = await order(config);
  await buildIndex(config);
  const { data } = await listSessions({ ...config, limit: Infinity });
  expect(first).toEqual(
    data.toSorted((a, b) => b.lastActivityAt.getTime() - a.lastActivityAt.getTime()).map(({ id }) => id),
  );
});
