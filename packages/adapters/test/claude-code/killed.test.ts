/** The server is killed while its sessions run a tool, stream an answer, and wait for a permission. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createSessions } from "@skein/core";
import type { Event } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import { claudeAgent, folder, only, play, until } from "./world.ts";

const SERVER = fileURLToPath(new URL("processes/claude-server.ts", import.meta.url));

async function startServer(...args: readonly string[]): Promise<ChildProcess> {
  const server = spawn(
    process.execPath,
    ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", SERVER, ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  onTestFinished(() => void server.kill("SIGKILL"));
  await once(server.stdout as NodeJS.ReadableStream, "data");
  return server;
}

test("after kill -9 of the server, another server resumes each session from the store, and nothing is repeated or left open", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const [home, cwd] = [folder(), folder()];
  const file = join(home, "skein.db");
  const store = await createSqliteStore({ file });
  onTestFinished(() => store.close());
  const sessions = createSessions({ store });
  const server = await startServer(file, home, simulator.url);

  const agent = claudeAgent({ cwd, allowed_tools: ["Bash"] });
  const effect = "echo once >> effects; touch begun; timeout 20 tail -f /dev/null; echo never >> effects";
  const working = await sessions.begin(
    agent,
    play({ text: "Working.", tools: [{ name: "Bash", input: { command: effect } }] }, { text: "It said: $LAST" }),
  );
  const speaking = await sessions.begin(agent, play({ text: "Word. ".repeat(20), chunk: 6, chunkDelayMs: 200 }));
  const asking = await sessions.begin(
    claudeAgent({ cwd }),
    play(
      { text: "May I?", tools: [{ name: "Bash", input: { command: "echo allowed >> answered" } }] },
      { text: "Done." },
    ),
  );
  const waiting = await until(async () => (await store.awaits(asking.sessionId))[0]);
  await until(() => existsSync(join(cwd, "begun")));
  await until(() => simulator.ledger.calls({ outcome: "open" }).length > 0);
  server.kill("SIGKILL");
  await once(server, "exit");
  // The children die with their server, which closes the connection of the open call to the model.
  await until(() => simulator.ledger.calls({ outcome: "open" }).length === 0);

  // The second server has never seen these sessions, and its folder for Claude Code is empty.
  await startServer(file, folder(), simulator.url);
  const ended = async (sessionId: string): Promise<readonly Event[]> =>
    until(async () => ((await sessions.get(sessionId)).status === "idle" ? sessions.events(sessionId) : undefined));
  const worked = await ended(working.sessionId);
  const spoke = await ended(speaking.sessionId);
  for (const events of [worked, spoke]) {
    expect(only(events, "session.completed")).toHaveLength(1);
    expect(only(events, "session.failed")).toHaveLength(0);
    const entries = only(events, "transcript.appended").flatMap(({ data }) => data.entries);
    const uuids = entries.flatMap(({ uuid }) => (typeof uuid === "string" ? [uuid] : []));
    expect(new Set(uuids).size).toBe(uuids.length);
  }
  expect(only(worked, "run.resumed")).toHaveLength(1);
  expect(only(worked, "tool.completed").map(({ data }) => data.outcome)).toEqual(["unknown"]);
  expect(only(worked, "session.completed")[0]?.data.final_response).toContain("The outcome of this call is unknown");
  expect(only(spoke, "session.completed")[0]?.data.final_response).toBe("Word. ".repeat(20).trimEnd() + " ");
  expect(readFileSync(join(cwd, "effects"), "utf8")).toBe("once\n");

  // The question is still open after the kill, and its answer continues the run.
  expect((await sessions.get(asking.sessionId)).status).toBe("awaiting");
  await sessions.answer(asking.sessionId, waiting.tool_use_id, { content: "allow" });
  const answered = await ended(asking.sessionId);
  expect(only(answered, "session.completed")).toHaveLength(1);
  expect(only(answered, "session.started")).toHaveLength(1);
  expect(readFileSync(join(cwd, "answered"), "utf8")).toBe("allowed\n");

  for (const { sessionId } of [working, speaking, asking]) {
    const transcript = await sessions.transcript(sessionId);
    const blocks = transcript.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    const asked = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    expect(blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id)).toEqual(asked);
    expect(new Set(transcript.map(({ id }) => id)).size).toBe(transcript.length);
  }
}, 180_000);
