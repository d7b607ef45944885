/**
 * A child process that misbehaves instead of working as Claude Code ends its run with one outcome, and leaves no
 * process behind.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createSpawnChild } from "@skein/adapters/runtimes/claude-code/process-guard";
import { openNone } from "@skein/adapters/sandboxes/none";
import type { Sandbox } from "@skein/core";
import type { Event } from "@skein/protocol";
import { beforeAll, expect, test } from "vitest";
import { createStub } from "./stub.ts";
import { claudeAgent, createWorld, folder, until } from "./world.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  const found = await openNone();
  if ("problem" in found) throw new Error(found.problem);
  ({ sandbox } = found);
});

/** Creates a host that runs this script instead of Claude Code. */
async function worldOf(
  behaviour: string,
  { startMs = 60_000, ...deps }: { startMs?: number } & Parameters<typeof createWorld>[0] = {},
) {
  const home = folder();
  const stub = await createStub(home, behaviour);
  const spawn = createSpawnChild({ sandbox, folder: join(home, "run"), startMs, graceMs: 500 });
  const world = await createWorld({ executable: stub.executable, spawn, apiEnv: { MARK: home }, ...deps });
  return { ...world, stub, nothingLeft: () => until(() => marked(home).length === 0) };
}

function marked(home: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`MARK=${home}`);
    } catch {
      return false;
    }
  });
}

function endings(events: readonly Event[]) {
  return events.flatMap((event) => (event.event_type === "session.failed" ? [event.data.error] : []));
}

const ANSWER_INIT = `
read -r line
id=$(grep -o '"request_id":"[^"]*"' <<<"$line" | head -1 | cut -d'"' -f4)
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"models":[],"account":{}}}}\\n' "$id"
`;

test.each([
  ["prints 100 MB on one line", "head -c 100000000 /dev/zero | tr '\\0' x; exec sleep 1000", "buffer_exceeded"],
  ["prints 100 MB on stderr and dies", "head -c 100000000 /dev/zero >&2; exit 1", "runtime_died"],
  ["prints half a line and dies", `printf '{"type":"sys'; exit 0`, "runtime_died"],
  ["dies at once", "exit 3", "runtime_died"],
  ["leaves a daemon and dies", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit 3", "runtime_died"],
  ["is killed", "kill -9 $$", "runtime_died"],
  ["dies after its start", `${ANSWER_INIT}\nexit 0`, "runtime_died"],
])("a child that %s ends its run with an error", async (_, behaviour, code) => {
  const { run, stub, nothingLeft } = await worldOf(behaviour);
  const { events } = await run("Hello.");
  expect(endings(events)).toMatchObject([{ code }]);
  expect((await stub.starts()).length).toBeGreaterThan(0);
  if (sandbox.walls.processes) await nothingLeft();
});

test.each([
  ["hangs and ignores SIGTERM", "trap '' TERM; while :; do sleep 1; done"],
  ["closes its output and hangs", "exec 1>&-; sleep 1000"],
])("a child that %s is ended, and its run fails", async (_, behaviour) => {
  const { run, nothingLeft } = await worldOf(behaviour, { startMs: 1000 });
  const { events } = await run("Hello.");
  expect(endings(events)).toMatchObject([
    { code: "runtime_silent", message: expect.stringContaining("sent nothing") as string },
  ]);
  await nothingLeft();
});

test("a run can be cancelled while it waits for a process, while the process starts, and while the process hangs and ignores SIGTERM", async () => {
  const behaviour = `trap '' TERM; ${ANSWER_INIT}\nwhile :; do sleep 1; done`;
  const cancelled = Promise.withResolvers<void>();
  const { sessions, ended, cwd, stub, figures, nothingLeft } = await worldOf(behaviour, {
    children: { maxRunning: 1 },
    // The host calls `walls` just before it starts a process.
    async walls() {
      await cancelled.promise;
      return undefined;
    },
  });
  const { sessionId, runId } = await sessions.begin(claudeAgent({ cwd }), { content: "Hello." });
  await until(async () => (await sessions.get(sessionId)).status === "running");
  const second = await sessions.begin(claudeAgent({ cwd }), { content: "Hello." });
  await until(async () => (await figures())?.waiting === 1);
  await sessions.cancel(second.sessionId, { reason: "Enough." });
  await until(async () => (await figures())?.waiting === 0);
  await sessions.cancel(sessionId, { reason: "Enough." });
  cancelled.resolve();
  const events = await ended(sessionId, runId);
  expect(events.at(-1)).toMatchObject({ event_type: "session.failed", data: { stop_reason: "cancelled" } });
  expect((await sessions.get(second.sessionId)).status).toBe("idle");
  expect(await stub.starts()).toHaveLength(1);
  await nothingLeft();
});
