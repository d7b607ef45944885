/** Tests of the commands `run`, `sessions` and `runs` with --server, and of processes that run `skein serve`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createAgent, defineTool } from "skein";
import { script } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { PATIENCE_MS } from "../../../scripts/patience.ts";
import { say, session, settled, testServer } from "../../server/test/world.ts";
import { type Ended, bin, dataFolder, environmentOf, lines, skein, start } from "./skein.ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  input: z.object({ to: z.string() }),
  needsApproval: true,
  run: ({ to }) => `deployed to ${to}`,
});

test("`skein run`, `skein sessions` and `skein runs` work on a server in the same way as on a store", async () => {
  const folder = dataFolder();
  const { url } = await testServer({ data: join(folder, "data"), store: `sqlite:${join(folder, "skein.db")}` });
  const call = (...args: readonly string[]): Promise<Ended> => skein(folder, "--server", url, ...args);
  const json = async (...args: readonly string[]) => lines((await call(...args, "--json")).out);

  const ran = await call("run", `Hello ${script([{ text: "Good day." }])}`);
  expect(ran).toMatchObject({ code: 0, out: "Good day.\n" });
  expect(ran.err).toContain("The model of this server is a simulation.");
  const id = /session ([0-9a-f-]{36})/.exec(ran.err)?.[1] ?? "";
  expect(ran.err).toMatch(new RegExp(`^Session ${id}\n(.*\n)*Completed`));
  const again = `And? ${script([{ text: "Good evening." }])}`;
  expect(await call("run", again, "--session", id.slice(0, 13))).toMatchObject({ code: 0, out: "Good evening.\n" });
  expect(
    (await call("run", `Raw ${script([{ text: "As text." }])}`, "--format", "xml", "--session", id)).out,
  ).toContain("As text.");

  expect(await json("sessions", "list", "--text", "evening")).toMatchObject([{ id, status: "idle", total_runs: 3 }]);
  expect(await json("sessions", "list", "--text", "nobody said this")).toEqual([]);
  expect((await call("sessions", "list")).out).toMatch(new RegExp(`^${id} +completed +3 .* Hello`, "m"));
  const shown = await call("sessions", "show", id);
  expect(shown.out).toContain("Good day.");
  const [run] = await json("runs", "list", id);
  expect((await call("runs", "logs", String(run?.["id"]))).out).toContain("run_completed");

  const exported = join(folder, "events.jsonl");
  expect(await call("sessions", "export", id, "--output", exported)).toMatchObject({ code: 0 });
  const events = lines(readFileSync(exported, "utf8"));
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
  const imported = (await call("sessions", "import", exported)).out.trim();
  const fork = (await call("sessions", "fork", id, "--title", "Another way")).out.trim();
  expect(await json("sessions", "list", "--title", "another")).toMatchObject([{ id: fork, parent_session_id: id }]);
  for (const made of [imported, fork])
    expect(await call("sessions", "delete", made, "--yes")).toMatchObject({ code: 0 });
  expect(await call("sessions", "show", fork)).toMatchObject({ code: 3 });
  expect(await json("sessions", "list")).toMatchObject([{ id }]);
});

test("`skein run --server` prints the id of the new session before the model answers, as text and as XML", async () => {
  const folder = dataFolder();
  const { url } = await testServer({ data: join(folder, "data"), store: `sqlite:${join(folder, "skein.db")}` });
  for (const format of [[], ["--format", "xml"]]) {
    const slow = script([{ text: "Good day.", delayMs: 60_000 }]);
    const { ended, says } = start(folder, ["run", slow, "--server", url, ...format]);
    const [, id = ""] = /Session ([0-9a-f-]{36})/.exec(await says(/Session [0-9a-f-]{36}/)) ?? [];
    expect((await skein(folder, "--server", url, "sessions", "cancel", id)).code).toBe(0);
    expect((await ended).code).not.toBe(0);
  }
});

test.skipIf(process.platform === "win32").each([[[]], [["--format", "xml"]]])(
  "Ctrl-C cancels the run of run --server with %j",
  async (format) => {
    const folder = dataFolder();
    const { url, call } = await testServer({ data: join(folder, "data"), store: `sqlite:${join(folder, "skein.db")}` });
    const slow = script([{ text: "Good day.", delayMs: 60_000 }]);
    const { child, ended, says } = start(folder, ["run", slow, "--server", url, ...format]);
    const [, id = ""] = /([0-9a-f]{8}-[0-9a-f-]{27})/.exec(await says(/[0-9a-f]{8}-[0-9a-f-]{27}/)) ?? [];
    child.kill("SIGINT");
    await says("Cancelling.");
    await ended;
    expect((await call("GET", `/v1/sessions/${id}/runs`)).body.data).toMatchObject([{ stop_reason: "cancelled" }]);
  },
);

test("--agent-name finds an agent that 200 agents are newer than", async () => {
  const folder = dataFolder();
  const { url, call } = await testServer({ data: join(folder, "data"), store: `sqlite:${join(folder, "skein.db")}` });
  await call("POST", "/v1/agents", { name: "Old" });
  for (let number = 1; number <= 200; number++) await call("POST", "/v1/agents", { name: `New ${number}` });
  const prompt = `Hello ${script([{ text: "Good day." }])}`;
  expect(await skein(folder, "--server", url, "run", prompt, "--agent-name", "Old")).toMatchObject({ code: 0 });
});

test("--agent-name skein runs a plain agent on a server that has other agents, and makes it only once", async () => {
  const folder = dataFolder();
  const { url, call } = await testServer({ data: join(folder, "data"), store: `sqlite:${join(folder, "skein.db")}` });
  for (const name of ["One", "Other"]) await call("POST", "/v1/agents", { name });
  const run = async (...args: readonly string[]): Promise<number | null> =>
    (await skein(folder, "--server", url, "run", `Hello ${script([{ text: "Good day." }])}`, ...args)).code;
  expect([await run(), await run("--agent-name", "Nobody")]).toEqual([2, 3]);
  expect([await run("--agent-name", "skein"), await run("--agent-name", "skein")]).toEqual([0, 0]);
  const { data } = (await call("GET", "/v1/agents")).body;
  expect(data.map(({ name }) => String(name)).toSorted()).toEqual(["One", "Other", "skein"]);
});

function endGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL");
  } catch {
    // The process group has already ended.
  }
}

test.skipIf(process.platform === "win32")(
  "a server of npm start stops when npm has passed SIGTERM only to the shell that started the server",
  async () => {
    const folder = dataFolder();
    // Without `exit`, the shell would become the server's process, and the test could not stop only the shell.
    const shell = spawn("sh", ["-c", '"$@" serve --port 0; exit $?', "sh", process.execPath, bin], {
      env: { ...environmentOf(folder), npm_lifecycle_event: "start" },
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    onTestFinished(() => endGroup(shell.pid));
    let out = "";
    shell.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    await expect.poll(() => /http:\S+:\d+/.exec(out)?.[0]).toBeDefined();
    const closed = once(shell.stdout, "close");
    shell.kill("SIGTERM");
    // The pipe closes when the server has ended.
    await closed;
  },
);

test("a second server on a SQLite file prints the first server's process, but not after the first server was killed", async () => {
  const folder = dataFolder();
  const serve = async (): Promise<{ readonly said: string; readonly kill: () => Promise<unknown>; pid?: number }> => {
    const { child, says, ended } = start(folder, ["serve", "--port", "0"]);
    const kill = (): Promise<unknown> => (child.kill("SIGKILL"), ended);
    return { said: await says("Stop it with Ctrl-C"), kill, ...(child.pid !== undefined && { pid: child.pid }) };
  };
  const workers = async (said: string): Promise<readonly (string | undefined)[]> => {
    const url = /http:\S+:\d+/.exec(said)?.[0] ?? "";
    const key = readFileSync(join(folder, "data", "admin-key"), "utf8").trim();
    const answer = await fetch(`${url}/v1/workers`, { headers: { "x-api-key": key } });
    const { data } = (await answer.json()) as { readonly data: readonly { readonly id: string }[] };
    return data.map(({ id }) => id.split("/")[1]).toSorted();
  };
  const first = await serve();
  expect(first.said).not.toContain("Another server");
  const second = await serve();
  expect(second.said).toContain(`Another server (process ${first.pid}) uses this store too.`);
  expect(await workers(second.said)).toEqual([first.pid, second.pid].map(String).toSorted());
  await first.kill();
  expect(await workers(second.said)).toEqual([String(second.pid)]);
  await second.kill();
  const third = await serve();
  expect(third.said).not.toContain("Another server");
  expect(await workers(third.said)).toEqual([String(third.pid)]);
});

test("a waiting run of a server is answered from the command line, and then continues", async () => {
  const folder = dataFolder();
  const server = await testServer({
    data: join(folder, "data"),
    store: `sqlite:${join(folder, "skein.db")}`,
    config: { tools: [deploy] },
  });
  for (const [name, tools] of [
    ["Deployer", ["deploy"]],
    ["Plain", []],
  ])
    await server.call("POST", "/v1/agents", { name, tools });
  const call = (...args: readonly string[]): Promise<Ended> => skein(folder, ...args, "--server", server.url);
  const prompt = script([{ tools: [{ name: "deploy", input: { to: "prod" } }] }, { text: "It said: $LAST" }]);

  expect(await call("run", prompt)).toMatchObject({ code: 2, err: expect.stringContaining("Deployer") });
  expect(await call("run", prompt, "--agent-name", "Nobody")).toMatchObject({ code: 3 });
  const waits = await call("run", prompt, "--agent-name", "Deployer");
  expect(waits.code).toBe(5);
  const [, id = "", use = ""] = /skein sessions answer (\S+) (\S+) yes --server http/.exec(waits.err) ?? [];
  expect((await call("sessions", "show", id)).out).toContain("Waits for your approval of deploy");
  expect(await call("sessions", "answer", id, use, "yes")).toMatchObject({ code: 0 });
  expect(await call("run", "--session", id)).toMatchObject({
    code: 0,
    out: expect.stringContaining("It said: deployed to prod"),
  });

  const again = await call("run", prompt, "--session", id);
  expect(again.code).toBe(5);
  expect(await call("sessions", "cancel", id)).toMatchObject({ code: 0 });
  expect(await call("run", "--session", id)).toMatchObject({ code: 130 });
});

test.each([
  [["sessions", "list", "--server", "nowhere"], 2, /--server takes an address such as/],
  [["sessions", "list", "--server", "http://127.0.0.1:9"], 4, /No server answers at http:\/\/127\.0\.0\.1:9 /],
  [
    ["sessions", "list", "--server", "http://127.0.0.1:9", "--store", "memory:"],
    2,
    /--store cannot be used with --server/,
  ],
  [["run", "Hi", "--server", "http://127.0.0.1:9", "--agent", "x.ts"], 2, /--agent cannot be used with --server/],
  [["run", "Hi", "--agent-name", "x"], 2, /give --server URL too/],
])("%j is rejected with an error message", async (args, code, sentence) => {
  expect(await skein(dataFolder(), ...args)).toMatchObject({ code, err: expect.stringMatching(sentence) });
});

test("a call without a key is rejected, and the error names the variable for the key", async () => {
  const folder = dataFolder();
  const { url } = await testServer({ store: `sqlite:${join(folder, "skein.db")}` });
  const { code, err } = await skein(folder, "sessions", "list", "--server", url);
  expect(code).toBe(1);
  expect(err).toContain("SKEIN_API_KEY");
});

test("`skein run --server` shows the question of a subagent's subagent, even if 100 newer sessions on the server wait", async () => {
  const folder = dataFolder();
  const gate = Promise.withResolvers<void>();
  const hold = defineTool({
    name: "hold",
    description: "Waits.",
    input: z.looseObject({}),
    policy: "repeatable",
    run: async () => (await gate.promise, "held"),
  });
  const deployer = createAgent({ name: "deployer", description: "Deploys.", tools: [hold, deploy] });
  const helper = createAgent({ name: "helper", description: "Helps.", subagents: [deployer] });
  const boss = createAgent({ name: "Boss", subagents: [helper] });
  const server = await testServer({ data: join(folder, "data"), config: { agents: [boss] } });
  const deploys = script([{ tools: [{ name: "hold" }] }, { tools: [{ name: "deploy", input: { to: "prod" } }] }]);
  const asks = script([{ tools: [{ name: "deployer", input: { prompt: deploys } }] }]);
  const prompt = script([{ tools: [{ name: "helper", input: { prompt: asks } }] }]);
  const run = start(folder, ["run", prompt, "--server", server.url, "--agent-name", "Boss"]);
  run.child.stdin?.end();
  const sessions = async (query: string) => (await server.call("GET", `/v1/sessions?${query}`)).body.data;
  await expect.poll(async () => (await sessions("activity=awaiting")).length).toBe(2);

  const frontend_tools = [{ name: "pick", description: "Picks.", input_schema: { type: "object" } }];
  const { agentId } = await session(server.call, { frontend_tools });
  const wait = async (): Promise<void> => {
    const { body } = await server.call("POST", `/v1/agents/${agentId}/sessions`, {});
    await say(server.call, `/v1/sessions/${body.id}`, script([{ tools: [{ name: "pick" }] }]));
    await settled(server.call, `/v1/sessions/${body.id}`, "activity", ["awaiting"]);
  };
  await Promise.all(Array.from({ length: 100 }, wait));
  gate.resolve();
  expect(await run.ended).toMatchObject({ code: 5, err: expect.stringMatching(/sessions answer \S+ \S+ yes /) });
});

test("`run`, `sessions show` and `sessions list` print the queue position of a waiting prompt", async () => {
  const folder = dataFolder();
  const gate = Promise.withResolvers<void>();
  const hold = defineTool({
    name: "hold",
    description: "Waits.",
    input: z.looseObject({}),
    policy: "repeatable",
    run: async () => (await gate.promise, "held"),
  });
  const server = await testServer({
    data: join(folder, "data"),
    store: `sqlite:${join(folder, "skein.db")}`,
    config: { tools: [hold], policy: { tenants: { default: { concurrentRuns: 1 } } } },
  });
  const { id, path } = await session(server.call, { name: "Holder", tools: ["hold"] });
  await say(server.call, path, `Hold. ${script([{ tools: [{ name: "hold" }] }, { text: "Done." }], "Hold.")}`);
  const call = (...args: readonly string[]): Promise<Ended> => skein(folder, "--server", server.url, ...args);
  const args = ["--server", server.url, "run", `Wait here ${script([{ text: "My turn." }])}`, "--agent-name", "Holder"];
  const waiting = start(folder, args);
  waiting.child.stdin?.end();
  const queued = 'queued, place 1: The tenant "default" may have 1 run at the same time, and 1 is running.';
  await expect.poll(async () => (await call("sessions", "list")).out).toContain("queued (1)");
  const [other = ""] = (await call("sessions", "list")).out.split("\n").filter((line) => line.includes("queued (1)"));
  // A prompt may wait for days, and its session gets no event while it waits.
  const database = new DatabaseSync(join(folder, "skein.db"), { timeout: PATIENCE_MS });
  database.exec("update heads set updated_at = '2026-01-01T00:00:00.000Z'");
  database.close();
  expect((await call("sessions", "list")).out).toContain("queued (1)");
  const shown = await call("sessions", "show", other.split(" ")[0] ?? "");
  expect(shown.out).toContain(queued);
  const held = (await call("sessions", "show", id)).out;
  expect(held).not.toContain("queued");
  // The heading is the first prompt instead of the id, so the id appears only once.
  expect(held).toMatch(/^Hold\. /);
  expect(held.split(id)).toHaveLength(2);
  expect(shown.out.split(other.split(" ")[0] ?? "")).toHaveLength(2);
  await waiting.says(`Q${queued.slice(1)}`);
  gate.resolve();
  expect(await waiting.ended).toMatchObject({ code: 0, out: "My turn.\n" });
});
