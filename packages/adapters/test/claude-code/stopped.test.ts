/**
 * A server is stopped in the middle of a turn, and another server takes over. The processes of the first server have
 * ended before the second server takes over.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openNone } from "@skein/adapters/sandboxes/none";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createSessions } from "@skein/core";
import { priceCall } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { claudeAgent, createWorld, folder, only, play, until } from "./world.ts";

const SERVER = fileURLToPath(new URL("processes/claude-server.ts", import.meta.url));
const LEASE = "6000";

async function startServer(...args: readonly string[]) {
  const server = spawn(
    process.execPath,
    ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", SERVER, ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  onTestFinished(() => void server.kill("SIGKILL"));
  await once(server.stdout, "data");
  return server;
}

test("after another server took the session, the child of the stopped server changes nothing any more", async ({
  skip,
}) => {
  const found = await openNone();
  if ("problem" in found) throw new Error(found.problem);
  if (!found.sandbox.walls.processes) skip(found.sandbox.walls.summary);
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const [home, cwd] = [folder(), folder()];
  const file = join(home, "skein.db");
  const store = await createSqliteStore({ file });
  onTestFinished(() => store.close());
  const sessions = createSessions({ store });
  const first = await startServer(file, home, simulator.url, LEASE);

  const command = "while :; do date +%s%3N >>effects; sleep 0.05; done";
  const { sessionId } = await sessions.begin(
    claudeAgent({ cwd, allowed_tools: ["Bash"] }),
    play({ tools: [{ name: "Bash", input: { command } }] }, { text: "It said: $LAST" }),
  );
  await until(() => existsSync(join(cwd, "effects")));
  first.kill("SIGSTOP");
  await startServer(file, home, simulator.url, LEASE);
  await until(async () => (await sessions.get(sessionId)).status === "idle", 90_000);
  first.kill("SIGCONT");

  const events = await sessions.events(sessionId);
  const [resumed] = only(events, "run.resumed");
  const effects = readFileSync(join(cwd, "effects"), "utf8").trim().split("\n").map(Number);
  expect(Math.max(...effects)).toBeLessThan(Date.parse(resumed?.created_at ?? ""));
  expect(only(events, "session.completed")[0]?.data.final_response).toContain("The outcome of this call is unknown");
  expect(only(events, "tool.completed")).toHaveLength(1);
  // When the first server wakes up late, its appends are rejected, and nothing of them is stored.
  await until(async () => (await sessions.get(sessionId)).status === "idle");
  expect(await sessions.events(sessionId)).toHaveLength(events.length);
}, 180_000);

test("a server that stops in the middle of an answer stores the usage that was reported for the answer, and leaves the run open", async () => {
  const { host, sessions, simulator, cwd, stop } = await createWorld();
  const text = "Once upon a time. ".repeat(400);
  const { sessionId } = await sessions.begin(claudeAgent({ cwd }), play({ text, chunk: 6, chunkDelayMs: 40 }));
  let arrived = 0;
  const unsubscribe = host.live.subscribe(sessionId, () => void (arrived += 1));
  await until(() => arrived > 10);
  await stop();
  unsubscribe();
  const events = await sessions.events(sessionId);
  const [lost, ...others] = only(events, "step.abandoned");
  expect(others).toEqual([]);
  const [call] = simulator.ledger.calls({ kind: "messages" });
  const { input_tokens = 0, cache_creation_input_tokens } = call?.usage ?? {};
  expect(lost?.data).toMatchObject({
    reason: "handed_over",
    estimated: true,
    usage: { input_tokens, cache_creation_input_tokens },
  });
  expect(lost?.data.usage.output_tokens).toBeGreaterThan(10);
  expect(lost?.data.usage.output_tokens).toBeLessThan(call?.usage?.output_tokens ?? 0);
  expect(lost?.data.content).toBeUndefined();
  // Claude Code does not report the token limit of the answer.
  expect(lost?.data.reserved_micros).toBeUndefined();
  expect((await sessions.state(sessionId)).run).not.toBeNull();
}, 60_000);

test("the possible cost of an interrupted answer is reserved if the length of answers is limited", async () => {
  const most = 5000;
  const environment = { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(most) };
  const { host, sessions, simulator, cwd, ended, again } = await createWorld({ environment });
  const text = "Once upon a time. ".repeat(400);
  const { sessionId, runId } = await sessions.begin(claudeAgent({ cwd }), play({ text, chunk: 6, chunkDelayMs: 40 }));
  let arrived = 0;
  host.live.subscribe(sessionId, () => void (arrived += 1));
  await until(() => arrived > 10);
  await sessions.cancel(sessionId);
  const events = await ended(sessionId, runId);
  expect(simulator.ledger.calls({ kind: "messages" })[0]?.request).toMatchObject({ max_tokens: most });
  const [lost] = only(events, "step.abandoned");
  if (!lost) throw new Error("No answer was interrupted.");
  const { model, usage, cost, reserved_micros } = lost.data;
  const limit = priceCall(model, { ...usage, output_tokens: most });
  expect(reserved_micros).toBe((limit?.total_micros ?? 0) - (cost?.total_micros ?? 0));
  expect(reserved_micros).toBeGreaterThan(0);
  expect((await sessions.get(sessionId)).reserved_micros).toBe(reserved_micros);
  await again(sessionId, play({ text: "A whole answer." }));
  expect((await sessions.get(sessionId)).reserved_micros).toBe(0);
}, 60_000);
