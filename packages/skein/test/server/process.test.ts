import { type ChildProcess, execSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import {
  type Caller,
  caller,
  folder,
  frames,
  openFrames,
  say,
  scripted,
  session,
  settled,
} from "../../../server/test/world.ts";

const bin = fileURLToPath(new URL("../../../cli/bin/skein.js", import.meta.url));

interface Started {
  readonly child: ChildProcess;
  readonly text: string;
  readonly url: string;
  readonly key: string;
  readonly call: Caller;
}

const CLEAN = { ...process.env, ANTHROPIC_API_KEY: "", SKEIN_API_KEY: "", SKEIN_STORE_URL: "" };

/** Starts `skein serve`, and waits until it prints its address. */
async function serving(data: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Started> {
  const child = spawn(process.execPath, [bin, "serve", "--port", "0", "--data", data, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...CLEAN, ...env },
    cwd: data,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("Ctrl-C")) break;
  }
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? "";
  const key = env["SKEIN_API_KEY"] ?? readFileSync(join(data, "admin-key"), "utf8").trim();
  return { child, text, url, key, call: caller(url, key) };
}

test("if the server is killed during a run, the run continues at the next start, and its stream has no gap", async () => {
  const data = folder();
  const first = await serving(data);
  const { path } = await session(first.call);
  const prompt = scripted("Take your time.", [{ text: "Done after all.", delayMs: 4000 }]);
  const { body } = await say(first.call, path, prompt);
  await settled(first.call, path, "status", ["running"]);
  const before = (await first.call("GET", `${path}/events`)).body.data;
  first.child.kill("SIGKILL");
  await once(first.child, "exit");

  const second = await serving(data);
  expect(second.key).toBe(first.key);
  const seen = await frames(`${second.url}${path}/events`, {
    headers: { "x-api-key": second.key, "last-event-id": String(before.length) },
    isLast: ({ event }) => event === "session.completed",
  });
  const facts = seen.filter(({ id }) => id !== undefined);
  expect(facts.map(({ id }) => Number(id))).toEqual(facts.map((_, index) => before.length + index + 1));
  expect(facts.map(({ event }) => event)).toContain("run.resumed");
  expect(facts.at(-1)?.data.data).toMatchObject({ run_id: body["run_id"], final_response: "Done after all." });
  const log = (await second.call("GET", `${path}/events`)).body.data;
  expect(log).toEqual([...before, ...facts.map((frame) => frame.data)]);
});

/** Returns the address and the API key of a simulator, which a server takes for a real model. */
async function realModel(): Promise<NodeJS.ProcessEnv> {
  const model = await createSimulator();
  onTestFinished(() => model.close());
  return { ANTHROPIC_API_KEY: "a-key-of-this-test", ANTHROPIC_BASE_URL: model.url };
}

test("a call of the demo's tool still waits for approval after kill -9 and a restart with a real model, and GET /v1/tools does not list the tool", async () => {
  const data = folder();
  const first = await serving(data);
  const { path } = await session(first.call, { name: "Demo", tools: ["demo_refund"], tags: ["demo"] });
  await say(first.call, path, "Refund order A17, amount 25");
  const open = async (call: Caller) => (await call("GET", `${path}/awaits`)).body.data;
  await expect
    .poll(() => open(first.call))
    .toMatchObject([{ kind: "approval", name: "demo_refund", input: { order: "A17", amount: 25 } }]);
  expect((await first.call("GET", "/v1/tools")).body.data).toEqual([]);
  first.child.kill("SIGKILL");
  await once(first.child, "exit");

  const second = await serving(data, [], await realModel());
  const [wait] = await open(second.call);
  await second.call("POST", `${path}/awaits/${String(wait?.["tool_use_id"])}`, { content: "yes" });
  await settled(second.call, path);
  const steps = (await second.call("GET", `${path}/steps`)).body.data;
  expect(steps).toMatchObject([{ simulated: true }, { simulated: false }]);
  const log = (await second.call("GET", `${path}/events`)).body.data;
  expect(log.find(({ event_type }) => event_type === "tool.completed")).toMatchObject({
    data: { content: expect.stringMatching(/^Pretended to refund 25 for order A17\. .* moves no money\./) },
  });
});

test("a new server with a real model does not have the demo's tool", async () => {
  const { call } = await serving(folder(), [], await realModel());
  expect(await call("POST", "/v1/agents", { name: "Demo", tools: ["demo_refund"] })).toMatchObject({
    status: 422,
    body: { error: { message: expect.stringContaining('no tool "demo_refund"') } },
  });
});

test("SIGTERM ends streams with a closing frame and ends the process within 12 s, even if a tool hangs; the next start continues the run", async () => {
  const data = folder();
  const skein = fileURLToPath(new URL("../../src/index.ts", import.meta.url));
  writeFileSync(
    join(data, "skein.config.ts"),
    `import { createAgent, defineTool } from ${JSON.stringify(skein)};
const stubborn = defineTool({ name: "stubborn", description: "Does not stop.", input: { type: "object" }, run: () => new Promise((resolve) => setTimeout(resolve, 60_000, "late")) });
export default { agents: [createAgent({ name: "Stubborn", tools: [stubborn] })] };
`,
  );
  const first = await serving(data);
  const [agent] = (await first.call("GET", "/v1/agents")).body.data;
  const { body } = await first.call("POST", "/v1/sessions", { agent_id: agent?.["id"] });
  const path = `/v1/sessions/${body.id}`;
  await say(first.call, path, scripted("Go.", [{ tools: [{ name: "stubborn", input: {} }] }, { text: "Done." }]));
  const key = { "x-api-key": first.key };
  const readings = [
    await openFrames(`${first.url}${path}/events`, key),
    await openFrames(`${first.url}/api/v1/sessions/${body.id}/stream`, key),
  ];
  const isCalled = async () =>
    (await first.call("GET", `${path}/events`)).body.data.some(({ event_type }) => event_type === "tool.started");
  await expect.poll(isCalled).toBe(true);
  const began = Date.now();
  first.child.kill("SIGTERM");
  // The server keeps listening until the run is released, and answers that it accepts no more requests.
  await expect.poll(async () => (await fetch(`${first.url}/ready`)).status).toBe(503);
  expect(await once(first.child, "exit")).toEqual([0, null]);
  expect(Date.now() - began).toBeLessThan(12_000);
  const [own, claude] = await Promise.all(readings.map(({ rest }) => rest));
  expect(own?.at(-1)).toMatchObject({ event: "stream.closing" });
  expect(claude?.at(-1)).toMatchObject({ event: "error", data: { code: "SERVICE_UNAVAILABLE" } });
  const second = await serving(data);
  expect(await settled(second.call, path)).toMatchObject({ status: "completed" });
});

test("the first start creates a key in a file that only the server's user can read, and prints a curl command that works", async () => {
  const data = folder();
  const oldMask = process.umask(0);
  const { text, key } = await serving(data).finally(() => process.umask(oldMask));
  expect(text).toMatch(/simulation/);
  // The output is not a terminal, so it may be stored as a log.
  expect(text).not.toContain(key);
  for (const name of readdirSync(data)) expect([name, statSync(join(data, name)).mode & 0o077]).toEqual([name, 0]);
  const line = /^ {2}API {6}(curl .*)$/m.exec(text)?.[1] ?? "";
  expect(JSON.parse(execSync(line, { encoding: "utf8" }))).toMatchObject({ key: { scopes: ["admin"] } });
});

test("the operator's key is the first admin key", async () => {
  const key = "operator-chose-this-key";
  const { call, text } = await serving(folder(), [], { SKEIN_API_KEY: key });
  expect(text).not.toContain(key);
  expect((await call("GET", "/v1/agents")).status).toBe(200);
});

test("the server has the agents of skein.config.ts with their tools, and an agent keeps its id at the next start", async () => {
  const data = folder();
  mkdirSync(join(data, "node_modules"), { recursive: true });
  const skein = fileURLToPath(new URL("../../src/index.ts", import.meta.url));
  writeFileSync(
    join(data, "skein.config.ts"),
    `import { createAgent, defineTool } from ${JSON.stringify(skein)};
const double = defineTool({ name: "double", description: "Doubles.", input: { type: "object" }, run: (input: { n: number }) => input.n * 2 });
export default { agents: [createAgent({ name: "Doubler", tools: [double] })] };
`,
  );
  const first = await serving(data);
  const [agent] = (await first.call("GET", "/v1/agents")).body.data;
  expect(agent).toMatchObject({ name: "Doubler", version: 1 });
  const { body } = await first.call("POST", "/v1/sessions", { agent_id: agent?.["id"] });
  const path = `/v1/sessions/${body.id}`;
  await say(first.call, path, scripted("Go.", [{ tools: [{ name: "double", input: { n: 21 } }] }, { text: "Done." }]));
  await settled(first.call, path);
  const rows = (await first.call("GET", `${path}/messages`)).body.data;
  expect(rows.find(({ role }) => role === "tool_result")).toMatchObject({ content: { result: "42" } });
  first.child.kill("SIGTERM");
  await once(first.child, "exit");
  const second = await serving(data);
  expect((await second.call("GET", "/v1/agents")).body.data).toMatchObject([{ id: agent?.["id"], version: 1 }]);
});
