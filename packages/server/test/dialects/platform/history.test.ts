/**
 * Sessions in Claude Code's files over HTTP: permissions, pages of transcripts of any size, search, usage, files,
 * export, changes.
 */
import { getEventListeners } from "node:events";
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@skein/client";
import { type HistorySession, ROUTES } from "@skein/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { createKeys } from "@skein/server";
import { openStore } from "skein";
import { caller, folder, frames, testServer } from "../../world.ts";

const SESSION = "5f0c1b6e-2d3a-4a77-9a33-0d5a4ef10001";
const LONG = "5f0c1b6e-2d3a-4a77-9a33-0d5a4ef10002";
const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const at = (second: number): string => new Date(Date.UTC(2026, 10, 1, 9, 0, second)).toISOString();

function line(sessionId: string, number: number, type: "user" | "assistant", message: object): string {
  return `${JSON.stringify({
    parentUuid: number === 1 ? null : uuid(number - 1),
    uuid: uuid(number),
    sessionId,
    type,
    cwd: "/work/project",
    version: "2.0.0",
    gitBranch: "main",
    userType: "external",
    isSidechain: false,
    timestamp: at(number),
    message,
  })}\n`;
}

const answer = (id: string, content: object[]): object => ({
  id,
  type: "message",
  role: "assistant",
  model: "claude-sonnet-5-5",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1000, output_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
});

/**
 * A Claude Code data directory: one short session with a failed call and an earlier copy of a file, and one session
 * with a line of 3 MB.
 */
function claudeFolder(): { root: string; transcript: string } {
  const root = folder();
  const project = join(root, "projects", "-work-project");
  mkdirSync(project, { recursive: true });
  const transcript = join(project, `${SESSION}.jsonl`);
  const backup = "0123456789abcdef@v1";
  mkdirSync(join(root, "file-history", SESSION), { recursive: true });
  writeFileSync(join(root, "file-history", SESSION, backup), "before the change\n");
  writeFileSync(
    transcript,
    [
      line(SESSION, 1, "user", { role: "user", content: "List the marmalade jars, please" }),
      line(SESSION, 2, "assistant", answer("msg_1", [{ type: "text", text: "I look." }])),
      line(
        SESSION,
        3,
        "assistant",
        answer("msg_1", [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } }]),
      ),
      line(SESSION, 4, "user", {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "no such cupboard", is_error: true }],
      }),
      `${JSON.stringify({
        type: "file-history-snapshot",
        messageId: uuid(1),
        isSnapshotUpdate: false,
        snapshot: {
          messageId: uuid(1),
          timestamp: at(1),
          trackedFileBackups: { "/work/project/a.txt": { backupFileName: backup, version: 1, backupTime: at(1) } },
        },
      })}\n`,
      line(SESSION, 5, "assistant", answer("msg_2", [{ type: "text", text: "There is no cupboard." }])),
    ].join(""),
  );
  const turns = Array.from({ length: 300 }, (_, number) =>
    line(LONG, number + 1, "user", { role: "user", content: `Prompt ${number}` }),
  );
  turns.splice(250, 0, line(LONG, 900, "user", { role: "user", content: "y".repeat(3_000_000) }));
  writeFileSync(join(project, `${LONG}.jsonl`), turns.join(""));
  return { root, transcript };
}

test("transcripts are listed, read in pages from their end, searched, counted and exported", async () => {
  const { root } = claudeFolder();
  const { url, key } = await testServer({ history: { roots: [root], keys: [] } });
  const client = createClient({ url, apiKey: key });
  const params = { session_id: SESSION };

  const list = ROUTES.listHistorySessions.response.parse(await client.listHistorySessions({ query: {} }));
  expect(list.data.map(({ id }) => id).toSorted()).toEqual([SESSION, LONG]);
  expect(list.data.find(({ id }) => id === SESSION)).toMatchObject({
    source: "claude-code",
    title: "List the marmalade jars, please",
    project_path: "/work/project",
    git_branch: "main",
  });
  expect((await client.listHistorySessions({ query: { title: "MARMALADE" } })).data.map(({ id }) => id)).toEqual([
    SESSION,
  ]);
  const orders: readonly ["title" | "cost" | "created", (session: HistorySession) => string | number][] = [
    ["title", ({ title }) => title?.toLowerCase() ?? "\uFFFF"],
    ["cost", ({ cost_micros }) => -(cost_micros ?? 0)],
    ["created", ({ created_at }) => -Date.parse(created_at)],
  ];
  for (const [sort, keyOf] of orders) {
    const keys = (await client.listHistorySessions({ query: { sort } })).data.map(keyOf);
    expect([sort, keys]).toEqual([sort, keys.toSorted((one, other) => (one < other ? -1 : 1))]);
    expect(keys.length).toBe(list.data.length);
  }
  const first = await client.listHistorySessions({ query: { limit: 1 } });
  const second = await client.listHistorySessions({ query: { limit: 1, cursor: first.next_cursor ?? "" } });
  expect([first.total, second.next_cursor, new Set([first.data[0]?.id, second.data[0]?.id]).size]).toEqual([
    2,
    null,
    2,
  ]);

  const one = ROUTES.getHistorySession.response.parse(await client.getHistorySession({ params }));
  expect(one).toMatchObject({
    branches: [],
    is_adopted: false,
    resume: { directory: "/work/project", command: `claude --resume ${SESSION}` },
  });
  const page = ROUTES.listHistoryMessages.response.parse(await client.listHistoryMessages({ params }));
  expect(page.data.map(({ type, role }) => role ?? type)).toEqual([
    "user",
    "assistant",
    "user",
    "file-history-snapshot",
    "assistant",
  ]);
  expect(page.data[1]).toMatchObject({
    message_id: "msg_1",
    content: [{ text: "I look." }, { name: "Bash" }],
    usage: { input_tokens: 1000 },
  });
  expect(page.data[0]).toMatchObject({ prompt: "List the marmalade jars, please", offset: 0 });

  const found = ROUTES.searchHistory.response.parse(await client.searchHistory({ query: { q: "marmalade" } }));
  expect(found.data[0]).toMatchObject({ session_id: SESSION, kind: "prompt", offset: 0 });
  expect((await client.searchHistory({ query: { q: "cupboard", session_id: SESSION } })).total).toBe(2);

  const usage = async (group_by: "day" | "block" | "tool" | "project") =>
    ROUTES.getHistoryUsage.response.parse(await client.getHistoryUsage({ query: { group_by } })).data;
  expect(await usage("day")).toMatchObject([{ key: "2026-11-01", calls: 2, input_tokens: 2000 }]);
  expect(await usage("project")).toMatchObject([{ key: "/work/project" }]);
  expect(await usage("block")).toMatchObject([
    { key: "2026-11-01T09:00:00.000Z", ends_at: "2026-11-01T14:00:00.000Z", is_gap: false },
  ]);
  expect(await usage("tool")).toMatchObject([{ key: "Bash", calls: 1, failed: 1 }]);

  const files = ROUTES.listHistoryFiles.response.parse(await client.listHistoryFiles({ params }));
  expect(files.data).toMatchObject([{ path: "/work/project/a.txt", versions: [{ version: 1, is_kept: true }] }]);
  const copy = (await client.getHistoryFile({
    params,
    query: { path: "/work/project/a.txt", version: 1 },
  })) as unknown as ArrayBuffer;
  expect(new TextDecoder().decode(copy)).toBe("before the change\n");
  const page2 = (await client.exportHistorySession({
    params,
    query: { format: "markdown" },
  })) as unknown as ArrayBuffer;
  expect(new TextDecoder().decode(page2)).toContain("marmalade");
});

test("the usage and cost of a session include its subagents, and calls of a model without a price are counted separately", async () => {
  const { root, transcript } = claudeFolder();
  const subagents = join(transcript.replace(/\.jsonl$/, ""), "subagents");
  mkdirSync(subagents, { recursive: true });
  const reply = { ...answer("msg_sub", [{ type: "text", text: "Done." }]), model: "a-model-without-a-price" };
  writeFileSync(join(subagents, "agent-a1b2c3.jsonl"), line(SESSION, 7, "assistant", reply));
  const { url, key } = await testServer({ history: { roots: [root], keys: [] } });
  const client = createClient({ url, apiKey: key });
  // A list by cost is answered only after all usage has been counted.
  await client.listHistorySessions({ query: { sort: "cost" } });

  const one = await client.getHistorySession({ params: { session_id: SESSION } });
  expect(one.usage).toEqual({
    input_tokens: 3000,
    output_tokens: 300,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    calls: 3,
    unpriced_calls: 1,
    models: ["claude-sonnet-5-5", "a-model-without-a-price"],
  });
  const [row] = (await client.getHistoryUsage({ query: { group_by: "session" } })).data;
  expect(row).toMatchObject({ key: SESSION, input_tokens: 3000, cost_micros: one.cost_micros });
  const other = await client.getHistorySession({ params: { session_id: LONG } });
  expect([other.cost_micros, other.usage?.calls]).toEqual([0, 0]);
});

test("the first request for the list starts to build the search index in the background, and a list by title finds a session that is newer than the index", async () => {
  const { root, transcript } = claudeFolder();
  const data = folder();
  const { url, key } = await testServer({ data, history: { roots: [root], keys: [] } });
  const client = createClient({ url, apiKey: key });
  await client.listHistorySessions({ query: {} });
  const index = join(data, "cache", "history", "index.sqlite");
  const indexed = () => {
    using database = new DatabaseSync(index, { readOnly: true });
    return database.prepare("SELECT count(*) AS files FROM facets WHERE facet = 'grams'").get()?.["files"];
  };
  await expect.poll(indexed).toBe(2);

  const stop = new AbortController();
  const changes = client.followHistory({ signal: stop.signal });
  expect((await changes.next()).value).toEqual({ type: "opened" });
  const chutney = async () => (await client.listHistorySessions({ query: { title: "chutney" } })).data;
  expect(await chutney()).toEqual([]);
  const later = SESSION.replace(/.$/, "9");
  writeFileSync(transcript.replace(SESSION, later), line(later, 1, "user", { role: "user", content: "Make chutney" }));
  expect((await changes.next()).value).toMatchObject({ type: "change", session_id: later });
  expect((await chutney()).map(({ id }) => id)).toEqual([later]);
  stop.abort();
  await changes.next().catch(() => undefined);
});

test("`source` limits lists, searches and counts to one agent, and the error for an unknown agent names the known agents", async () => {
  const { root } = claudeFolder();
  const codex = join(folder(), "codex");
  cpSync(join(import.meta.dirname, "../../../../history/test/fixtures/agents/codex"), codex, { recursive: true });
  const { url, key, call } = await testServer({ history: { roots: [root, codex], keys: [] } });
  const client = createClient({ url, apiKey: key });
  const sourcesOf = (rows: readonly { readonly source: string }[]): readonly string[] => [
    ...new Set(rows.map(({ source }) => source)),
  ];

  const all = (await client.listHistorySessions({ query: {} })).data;
  expect(sourcesOf(all).toSorted()).toEqual(["claude-code", "codex"]);
  const listed = await client.listHistorySessions({ query: { source: "codex" } });
  expect([sourcesOf(listed.data), listed.total]).toEqual([
    ["codex"],
    all.filter((one) => one.source === "codex").length,
  ]);

  const search = async (query: object) => (await client.searchHistory({ query: { q: "the", ...query } })).data;
  expect(sourcesOf(await search({ source: "claude-code" }))).toEqual(["claude-code"]);
  expect(sourcesOf(await search({ source: "codex" }))).toEqual(["codex"]);

  const usage = async (query: object) => (await client.getHistoryUsage({ query })).data;
  const bySource = await usage({ group_by: "source" });
  expect(bySource.map((row) => row.key).toSorted()).toEqual(["claude-code", "codex"]);
  const sum = (rows: readonly { readonly output_tokens: number }[]): number =>
    rows.reduce((total, { output_tokens }) => total + output_tokens, 0);
  expect(sum(await usage({ source: "codex" }))).toBe(bySource.find((row) => row.key === "codex")?.output_tokens);
  expect(sum(await usage({ source: "gemini" }))).toBe(0);

  for (const path of ["sessions?source=nobody", "search?q=jars&source=nobody", "usage?source=nobody"]) {
    const answer = await call("GET", `/v1/history/${path}`);
    expect([path, answer.status]).toEqual([path, 422]);
    expect(answer.body.error.message).toContain("opencode");
  }
});

test("with `source`, every request reads the session of this agent, also if a session of another agent has the same id", async () => {
  const { root, transcript } = claudeFolder();
  const agents = join(import.meta.dirname, "../../../../history/test/fixtures/agents");
  const codex = join(folder(), "codex");
  cpSync(join(agents, "codex"), codex, { recursive: true });
  const id = "0198c0de-0000-7000-8000-00000000000d";
  writeFileSync(
    transcript.replace(SESSION, id),
    [
      line(id, 1, "user", { role: "user", content: "List the marmalade" }),
      line(id, 2, "assistant", answer("msg_3", [{ type: "text", text: "None is left." }])),
    ].join(""),
  );
  const { url, key } = await testServer({ history: { roots: [root, codex], keys: [] } });
  const client = createClient({ url, apiKey: key });
  const params = { session_id: id };
  // A list by cost is answered only after all usage has been counted.
  const { data } = await client.listHistorySessions({ query: { sort: "cost" } });
  const listed = data.filter((one) => one.id === id);
  expect(listed.map(({ source }) => source).toSorted()).toEqual(["claude-code", "codex"]);
  for (const { source, title, project_path, cost_micros, usage, size_bytes } of listed) {
    const query = { source };
    const one = await client.getHistorySession({ params, query });
    expect(one).toMatchObject({ source, title, project_path, cost_micros, usage, size_bytes });
    expect(one.resume.command).toContain(source === "codex" ? "codex resume" : "claude --resume");
    const page = await client.listHistoryMessages({ params, query });
    expect([source, page.size_bytes]).toEqual([source, size_bytes]);
    const prompt = page.data.find((message) => message.prompt !== null);
    expect(prompt?.prompt).toBe(source === "codex" ? "List files" : "List the marmalade");
    const textOf = (bytes: unknown): string => new TextDecoder().decode(bytes as ArrayBuffer);
    const raw = await client.getHistoryLine({ params: { ...params, offset: prompt?.offset ?? 0 }, query });
    expect(textOf(raw)).toContain(prompt?.prompt);
    const exported = await client.exportHistorySession({ params, query: { ...query, format: "markdown" } });
    expect(textOf(exported)).toContain(prompt?.prompt);
  }
  const [mine, other] = listed;
  expect(mine?.usage).not.toEqual(other?.usage);
  const rows = (await client.getHistoryUsage({ query: { group_by: "session" } })).data;
  const costOf = (source: string) => rows.find((row) => row.key === id && row.source === source)?.cost_micros;
  expect(listed.map(({ source }) => costOf(source))).toEqual(listed.map(({ cost_micros }) => cost_micros));
  await expect(client.getHistorySession({ params, query: { source: "gemini" } })).rejects.toMatchObject({
    status: 404,
  });
  const adopted = await client.adoptHistorySession({ params, query: { source: "claude-code" } });
  expect(adopted).toMatchObject({ id, title: "List the marmalade" });
});

test("the pages of a long transcript have every message once, a very long text is cut, and the full line of this text can be read", async () => {
  const { root } = claudeFolder();
  const { url, key } = await testServer({ history: { roots: [root], keys: [] } });
  const client = createClient({ url, apiKey: key });
  const params = { session_id: LONG };
  const ids: string[] = [];
  let before: number | null = null;
  do {
    const page = await client.listHistoryMessages({ params, query: { limit: 40, ...(before !== null && { before }) } });
    ids.unshift(...page.data.map(({ id }) => id));
    const long = page.data.find(({ is_cut }) => is_cut);
    if (long) {
      expect(JSON.stringify(long).length).toBeLessThan(300_000);
      const whole = (await client.getHistoryLine({
        params: { ...params, offset: long.offset },
      })) as unknown as ArrayBuffer;
      expect(whole.byteLength).toBeGreaterThan(3_000_000);
    }
    before = page.next_before;
  } while (before !== null);
  expect(ids).toHaveLength(301);
  expect(new Set(ids).size).toBe(301);
  const forward = await client.listHistoryMessages({ params, query: { after: 0, limit: 10 } });
  expect(forward.data.map(({ prompt }) => prompt)).toEqual(
    Array.from({ length: 10 }, (_, number) => `Prompt ${number}`),
  );
  const next = await client.listHistoryMessages({ params, query: { after: forward.next_after, limit: 1 } });
  expect(next.data[0]?.prompt).toBe("Prompt 10");
});

test("only the operator's admins and named keys may read the history, and nobody if it is off", async () => {
  const { root } = claudeFolder();
  const data = folder();
  const store = `sqlite:${join(data, "skein.db")}`;
  const opened = await openStore(store);
  const keys = createKeys({ records: opened.records });
  const plain = await keys.make({ name: "plain", scopes: ["read", "run", "sql"], tenant: "default" });
  const named = await keys.make({ name: "reader", scopes: ["read"], tenant: "default" });
  const other = await keys.make({ name: "other", scopes: ["admin"], tenant: "other" });
  await opened.close();
  const open = await testServer({ store, data, history: { roots: [root], keys: ["reader"] } });
  const status = async (key: string, path: string) => (await caller(open.url, key)("GET", path)).status;
  const paths = [
    "/v1/history/sessions",
    `/v1/history/sessions/${SESSION}`,
    `/v1/history/sessions/${SESSION}/messages`,
    `/v1/history/sessions/${SESSION}/lines/0`,
    "/v1/history/search?q=jars",
    "/v1/history/usage",
    `/v1/history/sessions/${SESSION}/files`,
    `/v1/history/sessions/${SESSION}/export`,
    "/v1/history/events",
  ];
  for (const path of paths) {
    // A key that may not read the session gets 404, as for an unknown session.
    const refused = path.includes(SESSION) ? 404 : 403;
    expect([path, await status(plain, path), await status(other, path)]).toEqual([path, refused, refused]);
    if (path !== "/v1/history/events") expect([path, await status(named, path)]).toEqual([path, 200]);
  }
  expect((await caller(open.url, named)("POST", `/v1/history/sessions/${SESSION}/adopt`)).status).toBe(403);
  expect((await caller(open.url, named)("GET", "/v1/me")).body).toMatchObject({
    server: { history: { available: true } },
  });
  expect((await caller(open.url, plain)("GET", "/v1/me")).body).toMatchObject({
    server: { history: { available: false } },
  });
  const missing = ["nobody", "..%2f..%2fetc", `${SESSION}x`];
  for (const id of missing) expect([404, 422]).toContain((await open.call("GET", `/v1/history/sessions/${id}`)).status);
  expect((await open.call("GET", `/v1/history/sessions/${SESSION}/lines/7`)).status).toBe(404);
  expect((await open.call("GET", "/v1/history/search?q=%22")).status).toBeLessThan(500);
  expect((await open.call("GET", "/v1/history/usage?time_zone=Nowhere")).status).toBe(422);
  const path = encodeURIComponent("/etc/passwd");
  expect((await open.call("GET", `/v1/history/sessions/${SESSION}/files/content?path=${path}&version=1`)).status).toBe(
    404,
  );

  const closed = await testServer();
  expect((await closed.call("GET", "/v1/history/sessions")).body.error.message).toContain("SKEIN_HISTORY");
});

test("a session is adopted with one call, and changes of transcripts are streamed", async () => {
  const { root, transcript } = claudeFolder();
  const { url, key, call } = await testServer({ history: { roots: [root], keys: [] } });
  const adopted = await call("POST", `/v1/history/sessions/${SESSION}/adopt`);
  expect([adopted.status, adopted.body.id]).toEqual([201, SESSION]);
  expect((await call("GET", `/v1/sessions/${SESSION}`)).body["title"]).toBe("List the marmalade jars, please");
  expect((await call("GET", `/v1/history/sessions/${SESSION}`)).body["is_adopted"]).toBe(true);

  let written = 0;
  const write = (): void => {
    written += 1;
    appendFileSync(transcript, line(SESSION, 5 + written, "user", { role: "user", content: "And now?" }));
  };
  let timer: NodeJS.Timeout | undefined;
  const seen = await frames(`${url}/v1/history/events`, {
    headers: { "x-api-key": key },
    // The watcher may miss the first change, so changes are written until one is reported.
    onFrame: () => (timer ??= setInterval(write, 200)),
    isLast: ({ event }) => event === "history.changed",
  });
  clearInterval(timer);
  expect(seen.at(-1)?.data).toEqual({ session_id: SESSION, change: "appended" });
});

test("a stream of changes adds no listener for each change", async () => {
  const { root, transcript } = claudeFolder();
  const { url, key } = await testServer({ history: { roots: [root], keys: [] } });
  const listen = vi.spyOn(AbortSignal.prototype, "addEventListener");
  onTestFinished(() => listen.mockRestore());
  let changes = 0;
  let most = 0;
  const write = (): void => appendFileSync(transcript, "{}\n");
  let timer: NodeJS.Timeout | undefined;
  onTestFinished(() => clearInterval(timer));
  await frames(`${url}/v1/history/events`, {
    headers: { "x-api-key": key },
    onFrame: () => (timer ??= setInterval(write, 50)),
    isLast({ event }) {
      if (event === "history.changed") changes += 1;
      most = Math.max(
        ...listen.mock.contexts.map((signal) => getEventListeners(signal as AbortSignal, "abort").length),
      );
      return changes === 8;
    },
  });
  expect(most).toBeLessThan(5);
});

test("a user without any coding agent has empty lists, and a folder that the operator named must exist", async () => {
  const home = folder();
  vi.stubEnv("HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const paths = ["/v1/history/sessions", "/v1/history/search?q=jars", "/v1/history/usage"];
  const newcomer = await testServer({ history: { roots: undefined, keys: [] } });
  for (const path of paths) expect(await newcomer.call("GET", path)).toMatchObject({ status: 200, body: { data: [] } });
  const named = await testServer({ history: { roots: [join(home, "missing")], keys: [] } });
  for (const path of paths) expect((await named.call("GET", path)).status).toBe(404);
});
