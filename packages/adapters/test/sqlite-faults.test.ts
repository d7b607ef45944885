import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import type { Store } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { FACT_VERSION, createIds, isKnownError } from "@skein/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const ids = createIds();
const isRoot = process.getuid?.() === 0;

let folder: string;
let file: string;
let stores: Store[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "skein-sqlite-faults-"));
  file = join(folder, "store", "skein.db");
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: { busyMs?: number } = {}): Promise<Store> {
  const store = await createSqliteStore({ file, ...options });
  stores.push(store);
  return store;
}

async function created(store: Store) {
  const script = createScript({ store, ids });
  await script.create();
  return script;
}

/** Returns the code of the error with which the work fails. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    if (!isKnownError(error)) throw error;
    expect(error.message).toMatch(/^[A-Z].*\.$/u);
    return error.code;
  }
}

/** Makes a store with one session and closes it. */
async function closedStore(): Promise<string> {
  const store = await createSqliteStore({ file });
  const script = await created(store);
  await script.toolTurn("hello");
  await store.close();
  return script.sessionId;
}

describe("a file that cannot be used", () => {
  test("a text file in place of the database file is rejected and left unchanged", async () => {
    mkdirSync(join(folder, "store"));
    writeFileSync(file, "Dear diary, ".repeat(1000));
    expect(await codeOf(open())).toBe("store_corrupt");
    expect(readFileSync(file, "utf8")).toContain("Dear diary");
  });

  test("a damaged schema is found when the store is opened", async () => {
    await closedStore();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xff, 100, 4096));
    expect(await codeOf(open())).toBe("store_corrupt");
  });

  test("damaged rows are reported, at the latest when an event is appended", async () => {
    const sessionId = await closedStore();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xff, 8192));
    const used = async (): Promise<void> => {
      const store = await open();
      await store.read(sessionId);
      await store.append(sessionId, [createScript({ store, ids }).event({ event_type: "session.edited", data: {} })]);
    };
    expect(await codeOf(used())).toBe("store_corrupt");
  });

  test("a damaged row is not treated as an empty log", async () => {
    const sessionId = await closedStore();
    const before = await open();
    const script = createScript({ store: before, ids, sessionId });
    const mark = "x".repeat(20_000);
    await script.append([{ event_type: "session.edited", data: { metadata: { mark } } }]);
    await script.append([{ event_type: "session.edited", data: { metadata: {} } }]);
    await script.toolTurn("The row at the end is not damaged, so the store can be opened.");
    await before.close();
    const bytes = readFileSync(file);
    const at = bytes.indexOf(mark.slice(0, 100)) & ~4095;
    writeFileSync(file, bytes.fill(0xff, at, at + 4096));
    const store = await open();
    expect(await codeOf(store.read(sessionId))).toBe("store_corrupt");
  });

  test("a file with the first schema is updated, including its metadata", async () => {
    const sessionId = await closedStore();
    const before = await open();
    await createScript({ store: before, ids, sessionId }).toolTurn("hi");
    const runs = await before.runs(sessionId);
    await before.close();
    const db = new DatabaseSync(file);
    for (const name of ["agent_config", "conversation_history", "agent_runs", "api_sessions"])
      db.exec(`drop view if exists ${name}`);
    const added = ["cost_rest", "estimated_calls", "simulated_calls", "reserved_micros"];
    const parts = ["input_rest", "output_rest", "cache_write_rest", "cache_read_rest"];
    db.exec("drop index sessions_unknown_effect; drop index events_rare; alter table events drop column happened_at");
    db.exec("create index events_type on events (event_type); create index runs_started on runs (session_id)");
    for (const name of [...added, "reserved_until", "has_unknown_effect", "opened_by"])
      db.exec(`alter table sessions drop column ${name}`);
    for (const name of [...added, ...parts]) db.exec(`alter table runs drop column ${name}`);
    db.exec(
      "drop table session_metadata; drop index sessions_used; drop index sessions_last_used; drop table run_models; pragma user_version = 1",
    );
    const metadata = JSON.stringify({ user: "ada", level: 3, on: true, off: null, deep: { user: "bob" } });
    db.prepare("update sessions set metadata = ?").run(metadata);
    db.close();
    const store = await open();
    const pairs = [
      ["user", "ada"],
      ["level", "3"],
      ["on", "true"],
      ["off", "null"],
    ] as const;
    const { items } = await store.list({ tenant: "default", metadata: pairs });
    expect(items.map(({ id }) => id)).toEqual([sessionId]);
    expect(await store.count({ tenant: "default", metadata: [["user", "bob"]] })).toBe(0);
    expect(runs.items[0]?.models).toHaveLength(1);
    expect(await store.runs(sessionId)).toEqual(runs);
  });

  test("a migration adds the times at which events happened to the events of adopted sessions, and only to these", async () => {
    const sessionId = await closedStore();
    const before = await open();
    const live = createScript({ store: before, ids, sessionId });
    await live.toolTurn("today");
    const adopted = createScript({ store: before, ids, happenedAt: "2026-05-04T10:00:00.000Z" });
    await adopted.create();
    await adopted.toolTurn("months ago");
    const expected = await before.toolUsage({ tenant: "default" });
    await before.close();
    const db = new DatabaseSync(file);
    const actions = db.prepare("select * from agent_runs order by log_id").all();
    const version = Number(db.prepare("pragma user_version").get()?.["user_version"]);
    db.exec(`drop view agent_runs; drop index events_rare; alter table events drop column happened_at;
      create index events_rare on events (event_type, created_at); pragma user_version = ${version - 1}`);
    db.close();
    const store = await open();
    expect(await store.toolUsage({ tenant: "default" })).toEqual(expected);
    const again = new DatabaseSync(file);
    expect(again.prepare("select * from agent_runs order by log_id").all()).toEqual(actions);
    again.close();
  });

  test("a newer schema is rejected and left unchanged", async () => {
    await closedStore();
    const db = new DatabaseSync(file);
    db.exec("pragma user_version = 999");
    db.close();
    expect(await codeOf(open())).toBe("store_too_new");
    const again = new DatabaseSync(file);
    expect(again.prepare("pragma user_version").get()).toEqual({ user_version: 999 });
    again.close();
  });

  test("a session with facts of a newer version is not claimed", async () => {
    const store = await open();
    const script = await created(store);
    await script.prompt("hi");
    const db = new DatabaseSync(file);
    db.exec("update heads set fact_version = 99");
    db.close();
    await script.append([{ event_type: "session.edited", data: { title: "still newer" } }]);
    expect(await store.claim({ owner: "w", leaseMs: 1000 })).toEqual({ kind: "none", nextAt: null });
    expect(await codeOf(store.claim({ owner: "w", leaseMs: 1000, sessionId: script.sessionId }))).toBe("unreadable");
  });

  test("an append to a session with an earlier fact version raises the fact version", async () => {
    const script = await created(await open());
    const db = new DatabaseSync(file);
    db.exec("update heads set fact_version = 0");
    await script.append([{ event_type: "session.edited", data: { title: "newer" } }]);
    const found = db.prepare("select fact_version from heads").get();
    db.close();
    expect(found).toEqual({ fact_version: FACT_VERSION });
  });

  test("a folder in place of the database file is rejected", async () => {
    mkdirSync(file, { recursive: true });
    expect(await codeOf(open())).toBe("read_only");
  });

  test("a file in place of the folder is rejected", async () => {
    writeFileSync(join(folder, "store"), "");
    expect(await codeOf(open())).toBe("read_only");
  });
});

test("only the owner can read the database files, even with the umask 0", async () => {
  const before = process.umask(0);
  try {
    const store = await open();
    await (await created(store)).prompt("secret");
    const modes = readdirSync(join(folder, "store")).map((name) => [name, modeOf(join(folder, "store", name))]);
    expect(modes.length).toBeGreaterThanOrEqual(3);
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([]);
    expect(modeOf(join(folder, "store"))).toBe(0o700);
  } finally {
    process.umask(before);
  }
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe("another process", () => {
  test("if another process locks the database for long, appends fail and store nothing", async () => {
    const store = await open({ busyMs: 100 });
    const script = await created(store);
    const other = new DatabaseSync(file);
    other.exec("begin immediate");
    try {
      const started = performance.now();
      expect(await codeOf(script.prompt("now"))).toBe("store_unavailable");
      expect(performance.now() - started).toBeLessThan(3000);
      expect(await store.read(script.sessionId)).toHaveLength(1);
    } finally {
      other.exec("rollback");
      other.close();
    }
    await script.prompt("later");
    expect(await store.read(script.sessionId)).toHaveLength(2);
  });

  test(
    "when two processes append at the same time, readers and followers get each event once, in order",
    { timeout: 60_000 },
    async () => {
      const EACH = 150;
      const store = await open();
      const script = await created(store);
      const stop = new AbortController();
      const followed: number[] = [];
      const following = (async () => {
        for await (const { sequence } of store.follow(script.sessionId, {}, stop.signal))
          if (followed.push(sequence) === 2 * EACH + 1) return;
      })();
      const child = spawn(
        process.execPath,
        [...process.execArgv, "--input-type=module", "-e", OTHER_PROCESS, file, script.sessionId, String(EACH)],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const exited = once(child, "exit");
      // This process starts to append after the first append of the other process.
      await once(child.stdout, "data");
      for (let i = 0; i < EACH; i++) await script.prompt(`ours ${i}`);
      expect((await exited)[0]).toBe(0);
      await Promise.race([following, sleep(5000)]);
      stop.abort();
      await following;
      const expected = Array.from({ length: 2 * EACH + 1 }, (_, index) => index + 1);
      expect((await store.read(script.sessionId)).map(({ sequence }) => sequence)).toEqual(expected);
      expect(followed).toEqual(expected);
    },
  );
});

/** The program of the second process. It appends events, and checks that the events in the log have no gap. */
const OTHER_PROCESS = `
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createIds } from "@skein/protocol";
const [file, sessionId, count] = process.argv.slice(1);
const store = await createSqliteStore({ file });
const ids = createIds();
for (let i = 0; i < Number(count); i++) {
  const data = { message_id: ids(), run_id: ids(), mode: "queue", content: "theirs " + i, model: null, max_cost_micros: null };
  await store.append(sessionId, [{ id: ids(), event_type: "prompt.accepted", data }], { tenant: "default" });
  if (i === 0) console.log("begun");
  const log = await store.read(sessionId);
  if (log.some(({ sequence }, index) => sequence !== index + 1)) throw new Error("There is a gap.");
}
await store.close();
`;

describe.skipIf(!isRoot)(isRoot ? "a separate disk" : "a separate disk (needs root, for a small tmpfs)", () => {
  let mount: string;
  beforeEach(() => {
    mount = join(folder, "store");
    mkdirSync(mount);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", mount]);
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    execFileSync("umount", ["--lazy", mount]);
  });

  test("on a full disk an append is rejected and stores nothing, and the store continues when there is room", async () => {
    writeFileSync(join(mount, "ballast"), Buffer.alloc(512 * 1024));
    const store = await open();
    const script = await created(store);
    const text = "x".repeat(20_000);
    let acknowledged = 1;
    let code = "none";
    while (code === "none" && acknowledged < 1000) {
      code = await codeOf(script.prompt(text));
      if (code === "none") acknowledged += 1;
    }
    expect(code).toBe("disk_full");
    // `/health` makes this check.
    expect(await codeOf(store.check?.() ?? Promise.resolve())).toBe("disk_full");
    expect(await store.read(script.sessionId)).toHaveLength(acknowledged);
    const together = await Promise.all(Array.from({ length: 4 }, () => codeOf(script.prompt(text))));
    expect(together).toEqual(Array.from({ length: 4 }, () => "disk_full"));
    expect(await store.read(script.sessionId)).toHaveLength(acknowledged);

    rmSync(join(mount, "ballast"));
    await script.prompt("there is room");
    const log = await store.read(script.sessionId);
    expect(log.map(({ sequence }) => sequence)).toEqual(Array.from({ length: acknowledged + 1 }, (_, i) => i + 1));
  });

  test("a store cannot be created on a full disk", async () => {
    writeFileSync(join(mount, "ballast"), Buffer.alloc(2 * 1024 * 1024 - 8192));
    expect(await codeOf(open())).toBe("disk_full");
    rmSync(join(mount, "ballast"));
    await created(await open());
  });

  test("opening a store on a read-only disk fails with read_only, and succeeds when the disk can be written again", async () => {
    const sessionId = await closedStore();
    execFileSync("mount", ["-o", "remount,ro", mount]);
    expect(await codeOf(open())).toBe("read_only");
    execFileSync("mount", ["-o", "remount,rw", mount]);
    const store = await open();
    expect((await store.read(sessionId)).length).toBeGreaterThan(5);
  });

  test("a store cannot be created on a read-only disk", async () => {
    execFileSync("mount", ["-o", "remount,ro", mount]);
    expect(await codeOf(open())).toBe("read_only");
  });
});

test.skipIf(isRoot)("a folder without write permission is rejected (as root, see the read-only disk)", async () => {
  const sessionId = await closedStore();
  chmodSync(join(folder, "store"), 0o500);
  chmodSync(file, 0o400);
  expect(await codeOf(open())).toBe("read_only");
  chmodSync(join(folder, "store"), 0o700);
  chmodSync(file, 0o600);
  expect((await (await open()).read(sessionId)).length).toBeGreaterThan(5);
});
