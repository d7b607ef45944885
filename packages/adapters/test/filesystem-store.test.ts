import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { describeStore } from "@skein/core/testing";
import type { Fact } from "@skein/protocol";
import { expect, test } from "vitest";
import { afterKill, edited, emptyFolder, ids, opened, scriptOn } from "./filesystem-folder.ts";

describeStore(
  "filesystem",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "skein-files-"));
    let store = await createFilesystemStore({ folder });
    return {
      get store() {
        return store;
      },
      async reopen() {
        await store.close();
        store = await createFilesystemStore({ folder });
        return store;
      },
      cleanup: () => rm(folder, { recursive: true, force: true }),
    };
  },
  { another: "only one process at a time can open the folder; a second one is rejected" },
);

test("appends that are written together are checked one after another", async () => {
  const store = await opened(emptyFolder());
  const script = scriptOn(store);
  await script.create();
  const lease = await script.claim();
  const same = [script.event(edited("same"))];
  const checkpoint: Fact = {
    event_type: "checkpoint.created",
    data: { checkpoint_id: ids(), user_message_uuid: "u", files_modified: [] },
  };
  // The first append is being written. All others wait, and are written together after it.
  const settled = await Promise.allSettled([
    script.append([edited("first")]),
    store.append(script.sessionId, same),
    store.append(script.sessionId, same),
    script.append([checkpoint], { lease }),
    script.append([checkpoint], { lease }),
    script.append([edited("here")], { expect: 4 }),
    script.append([edited("too late")], { expect: 4 }),
    script.append([edited("over")], { lease, expect: 5, release: { dueAt: null } }),
    script.append([checkpoint], { lease }),
    script.append([edited("last")]),
  ]);
  const outcomes = settled.map((result) => (result.status === "fulfilled" ? "ok" : result.reason.code));
  expect(outcomes).toEqual(["ok", "ok", "ok", "ok", "already_exists", "ok", "conflict", "ok", "lease_lost", "ok"]);
  expect(settled[2]).toMatchObject({ value: { repeated: true, events: [{ sequence: 3 }] } });
  expect((await store.read(script.sessionId)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(await store.checkpoints(script.sessionId)).toHaveLength(1);
});

test("many concurrent creations with the same idempotency key create only one session", async () => {
  const store = await opened(emptyFolder());
  const script = scriptOn(store);
  await script.create();
  const created = (await store.read(script.sessionId))[0] as Fact;
  const create = () => store.append(ids(), [script.event(created)], { expect: 0, key: { id: "k", fingerprint: "f" } });
  const answers = await Promise.all(Array.from({ length: 10 }, create));
  expect(new Set(answers.map(({ events }) => events[0]?.session_id)).size).toBe(1);
  expect((await store.list({ tenant: "default" })).items).toHaveLength(2);
});

test("a claim waits for an append that is being written", async () => {
  const store = await opened(emptyFolder());
  const script = scriptOn(store);
  await script.create();
  await script.prompt("hi");
  const writing = script.append([edited("x")]);
  expect(await store.claim({ owner: "w", leaseMs: 1000 })).toMatchObject({ kind: "leased", lastSequence: 3 });
  await writing;
});

test("at open the documents show what was appended just before a kill", async () => {
  const folder = emptyFolder();
  const store = await opened(folder);
  const script = scriptOn(store);
  await script.create({ title: "before" });
  await store.settled();
  await script.append([edited("after")]);
  const title = async (path: string): Promise<unknown> =>
    JSON.parse(await readFile(join(path, "agent_config", `${script.sessionId}.json`), "utf8")).title;
  const copy = afterKill(folder);
  expect(await title(copy)).toBe("before");
  await opened(copy);
  expect(await title(copy)).toBe("after");
});
