import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { describe, expect, test } from "vitest";
import { afterKill, edited, emptyFolder, ids, opened, remount, scriptOn, smallDisk } from "./filesystem-folder.ts";

const logOf = (folder: string, sessionId: string): string => join(folder, "log", `${sessionId}.jsonl`);

/** Creates and closes a store with a session of three log lines. */
async function threeLines(): Promise<{ folder: string; sessionId: string; bytes: Buffer; lines: string[] }> {
  const folder = emptyFolder();
  const store = await createFilesystemStore({ folder });
  const script = scriptOn(store);
  await script.create();
  await script.append([edited("é one"), edited("two")], {
    tenant: "default",
    key: { id: "k", fingerprint: "f" },
  });
  await script.append([edited("three")], { dueAt: 5 });
  await store.close();
  const bytes = readFileSync(logOf(folder, script.sessionId));
  return { folder, sessionId: script.sessionId, bytes, lines: bytes.toString().split("\n").slice(0, -1) };
}

describe("a torn write (cut off by a crash)", () => {
  test("a torn write at any byte of the last line is cut off at open, and nothing before it is lost", async () => {
    const { folder, sessionId, bytes, lines } = await threeLines();
    const start = bytes.length - Buffer.byteLength(lines[2] ?? "") - 1;
    // Each place at which a crash can cut the write has a separate session.
    const cuts = Array.from({ length: bytes.length - start + 1 }, (_, i) => ({ id: ids(), end: start + i }));
    for (const { id, end } of cuts) writeFileSync(logOf(folder, id), bytes.subarray(0, end));
    const store = await opened(folder);
    for (const { id, end } of cuts) {
      const whole = end === bytes.length;
      const events = await store.read(id);
      expect(events.map(({ sequence }) => sequence)).toEqual(whole ? [1, 2, 3, 4] : [1, 2, 3]);
      expect(statSync(logOf(folder, id)).size).toBe(whole ? bytes.length : start);
    }
    for (const { id } of [cuts[0], cuts.at(-2), cuts.at(-1)] as typeof cuts) {
      const script = scriptOn(store, id);
      await script.append([edited("again")]);
      expect((await store.read(id)).at(-1)?.data).toEqual({ title: "again" });
    }
    expect(await store.read(sessionId)).toHaveLength(4);
  });

  test("a torn write is cut off if the disk has zeros in place of its missing bytes", async () => {
    const { folder, sessionId, bytes } = await threeLines();
    appendFileSync(
      logOf(folder, sessionId),
      Buffer.concat([Buffer.from('{"sequence":5,'), Buffer.alloc(600), Buffer.from("}\n")]),
    );
    const store = await opened(folder);
    expect(await store.read(sessionId)).toHaveLength(4);
    expect(statSync(logOf(folder, sessionId)).size).toBe(bytes.length);
  });

  test("a torn first append leaves no session", async () => {
    const { folder, bytes } = await threeLines();
    const [empty, torn] = [ids(), ids()];
    writeFileSync(logOf(folder, empty), "");
    writeFileSync(logOf(folder, torn), bytes.subarray(0, 100));
    const store = await opened(folder);
    for (const id of [empty, torn]) {
      expect(await store.get(id)).toBeUndefined();
      await scriptOn(store, id).create();
      expect(await store.read(id)).toHaveLength(1);
    }
  });

  test("a torn write of records is cut off, and a first put that was torn can be repeated", async () => {
    const folder = emptyFolder();
    const path = join(folder, "records", "records.jsonl");
    const put = { tenant: "t", kind: "k", id: "i", value: 1 };
    let store = await createFilesystemStore({ folder });
    await store.records.put([put]);
    await store.close();
    const line = readFileSync(path);
    for (const rest of [line.subarray(0, 30), Buffer.concat([line, line.subarray(0, 30)])]) {
      writeFileSync(path, rest);
      store = await createFilesystemStore({ folder });
      const version = (await store.records.get("t", "k", "i"))?.version ?? 0;
      expect((await store.records.put([put]))[0]?.version).toBe(version + 1);
      await store.close();
    }
    store = await createFilesystemStore({ folder });
    expect((await store.records.get("t", "k", "i"))?.version).toBe(2);
    await store.close();
  });
});

describe("damage", () => {
  test.each([
    ["a line that is no JSON", (text: string) => text.replace('{"sequence":2', '{"sequence":')],
    ["a changed letter in a line that is still JSON", (text: string) => text.replace("two", "twx")],
    ["a missing line", (text: string) => text.replace(/\n.*\n/, "\n")],
    ["a repeated line", (text: string) => text.replace(/\n(.*)\n/, "\n$1\n$1\n")],
  ])("damage is reported with file and line, and other sessions stay usable: %s", async (_, damage) => {
    const { folder, sessionId, bytes } = await threeLines();
    const other = ids();
    writeFileSync(logOf(folder, other), bytes);
    writeFileSync(logOf(folder, sessionId), damage(bytes.toString()));
    const store = await opened(folder);
    const expected = { code: "store_corrupt", details: { file: `${sessionId}.jsonl`, line: expect.any(Number) } };
    await expect(store.read(sessionId)).rejects.toMatchObject(expected);
    await expect(store.messages(sessionId)).rejects.toMatchObject(expected);
    await expect(store.get(sessionId)).rejects.toMatchObject(expected);
    await expect(scriptOn(store, sessionId).append([edited("x")])).rejects.toMatchObject(expected);
    const { items } = await store.list({ tenant: "default" });
    expect(items.map(({ id }) => id)).toEqual([other]);
    await scriptOn(store, other).append([edited("x")]);
    expect(await store.claim({ owner: "w", leaseMs: 1000 })).toMatchObject({ lease: { sessionId: other } });
    await store.delete(sessionId);
    expect(await store.get(sessionId)).toBeUndefined();
  });

  test("damage that happens while the store is open is found when the line is read", async () => {
    const { folder, sessionId } = await threeLines();
    const store = await opened(folder);
    await store.read(sessionId);
    const path = logOf(folder, sessionId);
    writeFileSync(path, readFileSync(path, "utf8").replace("two", "twx"));
    await expect(store.read(sessionId)).rejects.toMatchObject({ code: "store_corrupt", details: { line: 2 } });
    expect(await store.read(sessionId, { after: 3 })).toHaveLength(1);
  });

  test("if heads.jsonl, a list that makes opening fast, is damaged, no event is lost", async () => {
    const { folder, sessionId } = await threeLines();
    for (const text of ["", "x", "x\n".repeat(3)]) {
      writeFileSync(join(folder, "heads.jsonl"), text);
      const store = await createFilesystemStore({ folder });
      expect(await store.read(sessionId)).toHaveLength(4);
      await store.close();
    }
  });

  test("a log that another program extended is rejected, not overwritten", async () => {
    const { folder, sessionId } = await threeLines();
    const store = await opened(folder);
    appendFileSync(logOf(folder, sessionId), "by hand\n");
    await expect(scriptOn(store, sessionId).append([edited("x")])).rejects.toMatchObject({ code: "store_corrupt" });
    expect(readFileSync(logOf(folder, sessionId), "utf8")).toContain("by hand");
  });

  test("a link or a pipe in place of a log is not followed", async () => {
    const { folder, sessionId, bytes } = await threeLines();
    const [link, pipe, outside] = [ids(), ids(), join(emptyFolder(), "outside.jsonl")];
    writeFileSync(outside, bytes);
    symlinkSync(outside, logOf(folder, link));
    spawnSync("mkfifo", [logOf(folder, pipe)]);
    const store = await opened(folder);
    for (const id of [link, pipe]) await expect(store.read(id)).rejects.toMatchObject({ code: "store_corrupt" });
    expect(await store.read(sessionId)).toHaveLength(4);
  });
});

describe("after a kill", () => {
  test("after a kill, events, idempotency keys and due times have the acknowledged values, and the next lease has a higher number (fence)", async () => {
    const folder = emptyFolder();
    const store = await opened(folder);
    const script = scriptOn(store);
    await script.create();
    const key = { id: "k", fingerprint: "f" };
    const first = await store.append(script.sessionId, [script.event(edited("a"))], { tenant: "default", key });
    const lease = await script.claim();
    const at = Date.now() + 60_000;
    await store.release(lease, { seen: 2, dueAt: at });
    const again = await opened(afterKill(folder));
    expect(await again.claim({ owner: "w", leaseMs: 1 })).toEqual({ kind: "none", nextAt: at });
    const repeated = await again.append(script.sessionId, [script.event(edited("b"))], { tenant: "default", key });
    expect(repeated).toEqual({ events: first.events, repeated: true });
    const claimed = await again.claim({ owner: "w", leaseMs: 1, sessionId: script.sessionId });
    expect(claimed.kind === "leased" && claimed.lease.fence).toBeGreaterThan(lease.fence);
  });

  test("after the store is closed and opened, an older lease is rejected, and its fence is not used again", async () => {
    const folder = emptyFolder();
    let store = await createFilesystemStore({ folder });
    const script = scriptOn(store);
    await script.create();
    const lease = await script.claim();
    await store.close();
    store = await opened(folder);
    const title = script.event({ event_type: "title.generated", data: { title: "t" } });
    await expect(store.append(script.sessionId, [title], { lease })).rejects.toMatchObject({ code: "lease_lost" });
    const next = await scriptOn(store, script.sessionId).claim();
    expect(next.fence).toBeGreaterThan(lease.fence);
    await expect(store.append(script.sessionId, [title], { lease })).rejects.toMatchObject({ code: "lease_lost" });
  });
});

describe("a disk", () => {
  test("on a full disk an append is rejected and stores nothing, and succeeds when there is space again", async (context) => {
    const folder = smallDisk();
    if (!folder) return context.skip("a small disk cannot be mounted here");
    const store = await opened(folder);
    const script = scriptOn(store);
    await script.create();
    await store.settled();
    const filler = join(folder, "lost+found");
    const before = readFileSync(logOf(folder, script.sessionId));
    const big = script.event(edited("x".repeat(300_000)));
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"]);

    const refused = await Promise.allSettled([
      store.append(script.sessionId, [big]),
      ...Array.from({ length: 8 }, () => script.append([edited("y".repeat(9000))])),
      scriptOn(store).create(),
      store.records.put([{ tenant: "t", kind: "k", id: "i", value: "z".repeat(9000) }]),
    ]);
    for (const result of refused) expect(result).toMatchObject({ reason: { code: "disk_full" } });
    await expect(store.check?.()).rejects.toMatchObject({ code: "disk_full" });
    expect(await store.read(script.sessionId)).toHaveLength(1);
    expect(readFileSync(logOf(folder, script.sessionId))).toEqual(before);
    expect(readdirSync(join(folder, "log"))).toHaveLength(1);

    rmSync(filler);
    expect((await store.append(script.sessionId, [big])).events[0]?.sequence).toBe(2);
    await store.records.put([{ tenant: "t", kind: "k", id: "i", value: 1 }]);
    await store.settled();
    await store.close();
    const again = await opened(folder);
    expect(await again.read(script.sessionId)).toHaveLength(2);
  });

  test("on a read-only disk appends and opening are rejected, and an open store can be read", async (context) => {
    const folder = smallDisk();
    if (!folder) return context.skip("a small disk cannot be mounted here");
    const store = await opened(folder);
    const script = scriptOn(store);
    await script.create();
    await store.settled();
    remount(folder, "ro");
    await expect(script.append([edited("x")])).rejects.toMatchObject({ code: "read_only" });
    await expect(scriptOn(store).create()).rejects.toMatchObject({ code: "read_only" });
    await expect(store.delete(script.sessionId)).rejects.toMatchObject({ code: "read_only" });
    await expect(store.records.put([{ tenant: "t", kind: "k", id: "i", value: 1 }])).rejects.toMatchObject({
      code: "read_only",
    });
    expect(await store.read(script.sessionId)).toHaveLength(1);
    remount(folder, "rw");
    await script.append([edited("x")]);
    await store.close();
    remount(folder, "ro");
    await expect(createFilesystemStore({ folder })).rejects.toMatchObject({ code: "read_only" });
    remount(folder, "rw");
    expect(await (await opened(folder)).read(script.sessionId)).toHaveLength(2);
  });
});

describe("a folder", () => {
  test.each([0, 0o377])("a store folder is closed to other users under umask %o", async (umask) => {
    const folder = join(emptyFolder(), "new", "store");
    const before = process.umask(umask);
    try {
      const store = await createFilesystemStore({ folder });
      const script = scriptOn(store);
      await script.create();
      await script.toolTurn("hi");
      await store.writeSnapshot(script.sessionId, { sequence: 1, version: 1, state: "{}" });
      await store.records.put([{ tenant: "t", kind: "k", id: "i", value: 1 }]);
      await store.close();
    } finally {
      process.umask(before);
    }
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    expect(entries.length).toBeGreaterThan(15);
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      const mode = (statSync(path).mode & 0o777).toString(8);
      expect([path, mode]).toEqual([path, entry.isDirectory() ? "700" : "600"]);
    }
    expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
  });

  test("a folder of a newer Skein, with a damaged version, or with other files is rejected and left unchanged", async () => {
    for (const [version, code] of [
      ["2\n", "store_too_new"],
      ["one", "store_corrupt"],
    ] as const) {
      const { folder } = await threeLines();
      writeFileSync(join(folder, "version"), version);
      await expect(createFilesystemStore({ folder })).rejects.toMatchObject({ code });
      writeFileSync(join(folder, "version"), "1\n");
      await (await createFilesystemStore({ folder })).close();
    }
    const folder = emptyFolder();
    mkdirSync(join(folder, "agent_config"));
    writeFileSync(join(folder, "agent_config", `${ids()}.json`), "{}");
    await expect(createFilesystemStore({ folder })).rejects.toMatchObject({ code: "invalid" });
    expect(readdirSync(join(folder, "agent_config"))).toHaveLength(1);
  });

  test("a session whose log was deleted by hand no longer exists", async () => {
    const { folder, sessionId } = await threeLines();
    for (const use of ["read", "append", "get", "messages"] as const) {
      const id = ids();
      writeFileSync(logOf(folder, id), readFileSync(logOf(folder, sessionId)));
      const store = await createFilesystemStore({ folder });
      expect(await store.read(id)).toHaveLength(4);
      rmSync(logOf(folder, id));
      if (use === "get") expect(await store.get(id)).toBeUndefined();
      else {
        const attempt = use === "append" ? scriptOn(store, id).append([edited("x")]) : store[use](id);
        await expect(attempt).rejects.toMatchObject({ code: "not_found" });
      }
      await expect(store.read(id)).rejects.toMatchObject({ code: "not_found" });
      await store.close();
    }
  });

  test("an id from a fact or from a caller becomes part of a file name only if it is a UUID", async () => {
    const outer = emptyFolder();
    const folder = join(outer, "store");
    const store = await opened(folder);
    for (const id of [
      "../../x",
      "/etc/x",
      "a\0b",
      "..%2f",
      "C:\\x",
      "x".repeat(300),
      "CON",
      "-rf",
      ids().toUpperCase(),
    ]) {
      await expect(scriptOn(store, id).create()).rejects.toMatchObject({ code: "invalid" });
      expect(await store.get(id)).toBeUndefined();
      await expect(store.read(id)).rejects.toMatchObject({ code: "not_found" });
      await expect(store.delete(id)).rejects.toMatchObject({ code: "not_found" });
      expect(await store.readSnapshot(id)).toBeUndefined();
      await expect(store.writeSnapshot(id, { sequence: 1, version: 1, state: "" })).rejects.toMatchObject({
        code: "not_found",
      });
    }
    const script = scriptOn(store);
    await script.create();
    const lease = await script.claim();
    const step = { run_id: "../../../evil", step: 1, max_steps: 1 };
    await script.append([{ event_type: "steps.exhausted", data: step }], { lease });
    await store.settled();
    expect(readdirSync(outer)).toEqual(["store"]);
    expect(readdirSync(join(folder, "agent_runs"))).toEqual([]);
  });
});
