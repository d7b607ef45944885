import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import S3rver from "s3rver";
import { type Agent, type ServerOptions, createAgent, createServer } from "skein";
import { expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../src/config.ts";
import { openServerFiles } from "../src/open-files.ts";
import { codeOf } from "../src/serve/config-file.ts";
import { serveSettings } from "../src/serve/settings.ts";

test("with an empty HOME, the data folder is still an absolute path", () => {
  const home = process.env["HOME"];
  process.env["HOME"] = "";
  try {
    expect(isAbsolute(readConfig({}).dataDir)).toBe(true);
  } finally {
    if (home === undefined) delete process.env["HOME"];
    else process.env["HOME"] = home;
  }
});

test("two agents with the same name are rejected, but several agents may use the same subagent", () => {
  const helper = createAgent({ name: "helper" });
  const using = (name: string) => createAgent({ name, subagents: [helper] });
  expect(codeOf({ agents: [using("A"), using("B")] }).agents).toHaveLength(3);
  expect(() => codeOf({ agents: [using("A"), using("A")] })).toThrow(/the name "A"/);
});

test("an invalid address of the model is rejected before anything is opened", () => {
  expect(() => serveSettings({}, readConfig({ ANTHROPIC_BASE_URL: "localhost:4010" }))).toThrow(/ANTHROPIC_BASE_URL/);
});

test.each(["x", "70000", "-1"])("SKEIN_METRICS_PORT=%s is rejected with an error message", (text) => {
  expect(() => serveSettings({}, readConfig({ SKEIN_METRICS_PORT: text }))).toThrow(
    /SKEIN_METRICS_PORT is .*Expected a number/,
  );
});

test("an agent that was closed rejects another run, and opens no store", async () => {
  const agent = createAgent({ store: "memory:", model: "simulation" });
  await agent.sessions();
  await agent.close();
  await agent.close();
  await expect(agent.run("Hello")).rejects.toMatchObject({
    code: "closed",
    message: expect.stringContaining("closed"),
  });
});

test.each(["sqlite:", "file:"])(
  "a store at a %s address whose parent folder does not exist is rejected, and no folder is created",
  async (scheme) => {
    const home = await mkdtemp(join(tmpdir(), "skein-typo-"));
    onTestFinished(() => rm(home, { recursive: true }));
    const agent = createAgent({ store: `${scheme}${join(home, "typo", "data", "a")}` });
    const rejected = expect(agent.sessions()).rejects;
    await rejected.toMatchObject({ code: "invalid", message: expect.stringContaining(join(home, "typo")) });
    expect(existsSync(join(home, "typo"))).toBe(false);
  },
);

test.each([
  ["resume without a session", (agent: Agent) => agent.resume(undefined as never), "resume or follow needs the id"],
  [
    "an answer without a session",
    (agent: Agent) => agent.answer("", []),
    'answer needs the id of a session, but got ""',
  ],
  ["a run with null as its session", (agent: Agent) => agent.run("Hi", { sessionId: null as never }), "but got null"],
  [
    "a function for an unknown event",
    (agent: Agent) => agent.run("Hi", { onEvent: { bogus: () => {} } as never }),
    '"bogus" is not a type of event',
  ],
  [
    "an unknown event of a resumed run",
    (agent: Agent) => agent.resume("x", { onEvent: { "run.started": () => {} } as never }),
    "session.started",
  ],
])("%s is rejected, and the error says what was expected", async (_, call, message) => {
  const agent = createAgent({ store: "memory:", model: "simulation" });
  onTestFinished(() => agent.close());
  await expect(call(agent)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining(message) });
});

test("createServer rejects an unknown option", async () => {
  const options = { prot: 0, data: tmpdir() } as ServerOptions;
  await expect(createServer(options)).rejects.toMatchObject({ code: "invalid" });
});

test("limits and retention of createServer take precedence over the environment", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("SKEIN_LIMITS", "bodyBytes=20");
  vi.stubEnv("SKEIN_RETENTION", "*=365");
  const data = await mkdtemp(join(tmpdir(), "skein-settings-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const logged: Readonly<Record<string, unknown>>[] = [];
  const server = await createServer({
    port: 0,
    store: "memory:",
    data,
    limits: { bodyBytes: 1000 },
    retention: { "*": 30 },
    log: (line) => logged.push(line),
  });
  onTestFinished(() => server.close());
  const headers = { authorization: `Bearer ${server.key.key}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "An agent with a long name" });
  expect((await fetch(`${server.url}/v1/agents`, { method: "POST", headers, body })).status).toBe(201);
  const passes = () => logged.filter(({ event }) => event === "retention.pass");
  await expect.poll(passes).toMatchObject([{ tenant: "default", kept_days: 30 }]);
});

test.each([
  ["store", { store: "memory:" }, "--store or SKEIN_STORE_URL"],
  ["files", { files: "./made" }, "--files or SKEIN_FILES"],
  ["apiKey", { apiKey: "sk-ant-x" }, "ANTHROPIC_API_KEY"],
  ["baseUrl", { baseUrl: "http://127.0.0.1:1" }, "ANTHROPIC_BASE_URL"],
  ["silenceMs", { silenceMs: 1000 }, "a separate program"],
  ["leaseMs", { leaseMs: 1000 }, "a separate program"],
])(
  "an agent of a server that sets %s is rejected with what to use instead, also as a subagent",
  (name, options, use) => {
    const own = createAgent({ name: "Own", ...options });
    const sentence = `agents: "Own" sets ${name}, which a server has once for all its agents. Remove it from the agent and use ${use}.`;
    expect(() => codeOf({ agents: [own] })).toThrow(sentence);
    const caller = createAgent({ name: "Caller", subagents: [own], ...options });
    expect(() => codeOf({ agents: [caller] })).toThrow(`"Caller" sets ${name}`);
    // In a program without a server, the subagent would run with its caller's settings, so createAgent rejects it.
    expect(() => createAgent({ name: "Other", subagents: [own] })).toThrow(`The subagent "Own" sets ${name}`);
  },
);

test("limits come from the environment or skein.config.ts, and a wrong limit is rejected with an error message", () => {
  expect(codeOf({ limits: { streams: 3 } }).limits).toEqual({ streams: 3 });
  const limits = (text: string) => serveSettings({}, readConfig({ SKEIN_LIMITS: text })).limits;
  expect(limits("streams=20, requestsPerSecond=0.5")).toEqual({ streams: 20, requestsPerSecond: 0.5 });
  expect(() => limits("streams")).toThrow(/SKEIN_LIMITS has "streams"/);
  expect(() => limits("stream=1")).toThrow(/SKEIN_LIMITS has "stream"\. The limits are .*streams/);
  expect(() => codeOf({ limits: { streams: -1 } })).toThrow(/limits sets streams to "-1"/);
});

test.each([
  ["an invalid address", { SKEIN_FILES: "ftp://x" }, /"ftp:\/\/x" is not a place for files/],
  ["a bucket without a name", { SKEIN_FILES: "s3://" }, /names no bucket/],
  ["a bucket without a key", { SKEIN_FILES: "s3://bucket" }, /needs AWS_ACCESS_KEY_ID/],
])("%s for generated files is rejected before anything is opened", (_, env, sentence) => {
  expect(() => serveSettings({}, readConfig(env))).toThrow(sentence);
});

test("generated files are stored beside the store or at the operator's address, and the usual variables configure S3", async () => {
  const home = await mkdtemp(join(tmpdir(), "skein-places-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const sessionId = "01a1de6b-ce85-73e6-957e-30f2af6e7b70";
  const file = { sessionId, fileId: "f", filename: "x", bytes: new TextEncoder().encode("x") };
  const placed = async (env: NodeJS.ProcessEnv): Promise<string> => {
    const { files } = await openServerFiles(
      serveSettings({}, readConfig({ SKEIN_DATA_DIR: join(home, "data"), ...env })),
    );
    const { storagePath } = await files.put(file);
    // A second server with the same settings reads the file.
    const other = await openServerFiles(serveSettings({}, readConfig({ SKEIN_DATA_DIR: join(home, "other"), ...env })));
    if (env["SKEIN_STORE_URL"] !== undefined || env["SKEIN_FILES"] !== undefined)
      expect(await other.files.get(storagePath)).toEqual(file.bytes);
    return storagePath;
  };
  expect(await placed({})).toBe(join(home, "data/files", sessionId, "f_x"));
  expect(await placed({ SKEIN_STORE_URL: `sqlite:${home}/db/a.db` })).toBe(join(home, "db/files", sessionId, "f_x"));
  expect(await placed({ SKEIN_STORE_URL: `file:${home}/store` })).toBe(join(home, "store/files", sessionId, "f_x"));
  expect(await placed({ SKEIN_FILES: join(home, "made") })).toBe(join(home, "made", sessionId, "f_x"));

  const bucket = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory: join(home, "s3"),
    configureBuckets: [{ name: "agent-data", configs: [] }],
  });
  const { port } = await bucket.run();
  onTestFinished(() => bucket.close());
  const s3 = {
    SKEIN_FILES: "s3://agent-data/skein/",
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: "S3RVER",
    AWS_SECRET_ACCESS_KEY: "S3RVER",
  };
  expect(await placed(s3)).toBe(`s3://agent-data/skein/${sessionId}/f_x`);
});

test("files that an earlier version kept in the data folder are still read", async () => {
  const home = await mkdtemp(join(tmpdir(), "skein-earlier-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const sessionId = "01a1de6b-ce85-73e6-957e-30f2af6e7b70";
  const earlier = await openServerFiles({ storeUrl: "memory:", dataDir: home });
  const bytes = new TextEncoder().encode("old");
  const { storagePath } = await earlier.files.put({ sessionId, fileId: "f", filename: "x", bytes });
  const now = await openServerFiles({ storeUrl: `sqlite:${home}/elsewhere/a.db`, dataDir: home });
  expect(await now.files.get(storagePath)).toEqual(bytes);
  await now.files.deleteSession?.(sessionId);
  await expect(now.files.get(storagePath)).rejects.toMatchObject({ code: "not_found" });
});

test("an error about an agent's settings names the agent and says in plain words what is wrong", () => {
  expect(() => createAgent({ name: "Clerk", max_tokens: 0 })).toThrow(/^The agent "Clerk": max_tokens: (?!Too small)/);
});
