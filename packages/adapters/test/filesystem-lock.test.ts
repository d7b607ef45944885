import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { describe, expect, onTestFinished, test } from "vitest";
import { documentsOf, edited, emptyFolder, opened, scriptOn } from "./filesystem-folder.ts";

const root = join(import.meta.dirname, "..", "..", "..");

/** Runs these lines in a second process that has the variable `folder`. Returns the process and its output. */
function child(folder: string, lines: string): { process: ChildProcess; said: AsyncIterator<string> } {
  const code = `
    import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
    import { createIds } from "@skein/protocol";
    const folder = ${JSON.stringify(folder)};
    const say = (text) => process.stdout.write(text + "\\n");
    const ids = createIds();
    ${lines}`;
  const spawned = spawn(process.execPath, ["--conditions=@skein/source", "--input-type=module", "-e", code], {
    cwd: join(root, "packages", "adapters"),
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void spawned.kill("SIGKILL"));
  return { process: spawned, said: createInterface({ input: spawned.stdout })[Symbol.asyncIterator]() };
}

const OPEN_AND_STAY = `
  try { const store = await createFilesystemStore({ folder }); say("mine"); setInterval(() => {}, 1000); }
  catch (error) { say(error.code); }`;

async function killed(process: ChildProcess): Promise<void> {
  const exited = once(process, "exit");
  process.kill("SIGKILL");
  await exited;
}

describe("a folder that a process uses", () => {
  test("a second process is rejected within two seconds with the PID of the first process, and can open the folder after kill -9", async () => {
    const folder = emptyFolder();
    const first = child(folder, OPEN_AND_STAY);
    expect((await first.said.next()).value).toBe("mine");
    const began = performance.now();
    await expect(createFilesystemStore({ folder })).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(String(first.process.pid)),
      details: { pid: first.process.pid },
    });
    expect(performance.now() - began).toBeLessThan(2000);
    await killed(first.process);
    const store = await opened(folder);
    await scriptOn(store).create();
    const second = child(folder, OPEN_AND_STAY);
    expect((await second.said.next()).value).toBe("store_locked");
    await scriptOn(store).create();
  });

  test("the same process cannot open the folder twice, but can open it again after close", async () => {
    const folder = emptyFolder();
    const store = await createFilesystemStore({ folder });
    await expect(createFilesystemStore({ folder })).rejects.toMatchObject({
      code: "store_locked",
      details: { pid: process.pid },
    });
    await store.close();
    await opened(folder);
  });

  test("if several processes find a dead holder at the same time, exactly one gets the folder", async () => {
    const folder = emptyFolder();
    const dead = child(folder, OPEN_AND_STAY);
    await dead.said.next();
    await killed(dead.process);
    const rivals = Array.from({ length: 3 }, () => child(folder, OPEN_AND_STAY));
    const said = await Promise.all(rivals.map(async (rival) => (await rival.said.next()).value as string));
    expect(said.toSorted()).toEqual(["mine", "store_locked", "store_locked"]);
  });
});

describe("a lock", () => {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const exited = spawnSync(process.execPath, ["-e", ""]).pid;
  test.each([
    ["of a process that has ended", JSON.stringify({ pid: exited, boot, started: "1", released: false })],
    [
      "of a PID that another process has now",
      JSON.stringify({ pid: process.pid, boot, started: "1", released: false }),
    ],
    ["of another boot", JSON.stringify({ pid: process.pid, boot: "other", started: "1", released: false })],
    ["that was released", JSON.stringify({ pid: process.pid, boot, started: "1", released: true })],
    ["that is empty", ""],
    ["that is no JSON", "\0\0\0"],
    ["that is other JSON", '{"pid":"x"}'],
  ])("within two seconds, a process takes over a lock %s", async (_, text) => {
    const folder = emptyFolder();
    let store = await createFilesystemStore({ folder });
    const script = scriptOn(store);
    await script.create();
    await store.close();
    const [name] = readdirSync(join(folder, "lock"));
    writeFileSync(join(folder, "lock", name ?? ""), text);
    const began = performance.now();
    store = await opened(folder);
    expect(performance.now() - began).toBeLessThan(2000);
    expect(readdirSync(join(folder, "lock"))).toEqual([String(Number(name) + 1)]);
    expect(await store.read(script.sessionId)).toHaveLength(1);
  });

  test("after a crash of the machine, empty documents are written again", async () => {
    const folder = emptyFolder();
    const store = await createFilesystemStore({ folder });
    const script = scriptOn(store);
    await script.create();
    await script.toolTurn("hi");
    await store.close();
    const written = documentsOf(folder);
    for (const path of Object.keys(written)) writeFileSync(join(folder, path), "");
    const [name] = readdirSync(join(folder, "lock"));
    const holder = { pid: process.pid, boot: "other", started: "1", released: false };
    writeFileSync(join(folder, "lock", name ?? ""), JSON.stringify(holder));
    await (await createFilesystemStore({ folder })).close();
    expect(documentsOf(folder)).toEqual(written);
  });

  test("a process does not take a lock that another process has taken over at the same moment", async () => {
    const folder = emptyFolder();
    const holder = (pid: number) => JSON.stringify({ pid, boot: "b", started: "s", released: false });
    mkdirSync(join(folder, "lock"));
    writeFileSync(join(folder, "lock", "1"), holder(40));
    const processes = {
      pid: 50,
      boot: "b",
      started(pid: number) {
        // Process 41 takes the lock while this process checks whether process 40 is dead.
        if (pid === 40) writeFileSync(join(folder, "lock", "2"), holder(41));
        return pid === 40 ? undefined : "s";
      },
    };
    await expect(createFilesystemStore({ folder, processes })).rejects.toMatchObject({
      code: "store_locked",
      details: { pid: 41 },
    });
    expect(readFileSync(join(folder, "lock", "2"), "utf8")).toBe(holder(41));
  });

  test("a lock that is a folder, or has strange names beside it, is taken over", async () => {
    const folder = emptyFolder();
    mkdirSync(join(folder, "lock", "3"), { recursive: true });
    writeFileSync(join(folder, "lock", "notes"), "");
    await opened(folder);
    expect(readdirSync(join(folder, "lock")).sort()).toEqual(["4", "notes"]);
  });
});

test("everything acknowledged before kill -9 is in the log, in order", async () => {
  const folder = emptyFolder();
  const writer = `
    const store = await createFilesystemStore({ folder });
    const created = { tenant: "default", agent_id: ids(), agent_version: 1, title: null, tags: [], model_id: null,
      working_directory: null, metadata: {}, parent: null, subagent_of: null,
      agent: { name: "a", model: "m", system_prompt: "", tool_schemas: [], extras: {} } };
    const write = async (sessionId) => {
      await store.append(sessionId, [{ id: ids(), event_type: "session.created", data: created }], { expect: 0 });
      say(sessionId + " 1");
      for (;;) {
        const events = [1, 2].map(() => ({ id: ids(), event_type: "session.edited", data: { title: "x".repeat(200) } }));
        const appended = await store.append(sessionId, events);
        say(sessionId + " " + appended.events[1].sequence);
      }
    };
    await Promise.all([write(ids()), write(ids()), write(ids())]);`;
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < 3; round++) {
    const { process, said } = child(folder, writer);
    const reading = (async () => {
      for (let line = await said.next(); !line.done; line = await said.next()) {
        const [sessionId = "", sequence] = line.value.split(" ");
        acknowledged.set(sessionId, Number(sequence));
      }
    })();
    await expect.poll(() => acknowledged.size, { interval: 5 }).toBeGreaterThan(round * 3);
    await sleep(40 * round);
    await killed(process);
    await reading;

    const store = await createFilesystemStore({ folder });
    for (const [sessionId, sequence] of acknowledged) {
      const events = await store.read(sessionId);
      expect(events.length).toBeGreaterThanOrEqual(sequence);
      // The creation adds one event, and every later append adds two. So only complete appends make an odd number.
      expect(events.length % 2).toBe(1);
      expect(events.map((event) => event.sequence)).toEqual(events.map((_, i) => i + 1));
      await scriptOn(store, sessionId).append([edited("a"), edited("b")]);
    }
    await store.close();
    const configs = Object.keys(documentsOf(folder));
    expect(configs.length).toBeGreaterThanOrEqual(acknowledged.size);
  }
});
