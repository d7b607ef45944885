import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFolderFileStore } from "@skein/adapters/files/folder";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { type FileStore, type Store, createMemoryStore, keepLargeTexts, orphanedFiles } from "@skein/core";
import { createScript, describeStore } from "@skein/core/testing";
import { KnownError, createIds } from "@skein/protocol";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { type Database, createDatabase } from "../../../scripts/postgres.ts";

const ids = createIds();
/** NUL, half a surrogate pair, quotes, and a text that looks like the reference to a large text. */
const NAUGHTY = `skein-text:${"0".repeat(64)}:5:\0 \ud83d "quoted" 😀`;
const LARGE = `${NAUGHTY}${"Zeile für Zeile.\n".repeat(30_000)}`;

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "skein-large-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

// Every rule of a store also holds if large texts of events are stored as files.
describeStore(
  "memory with large texts in a folder",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "skein-large-"));
    const store = keepLargeTexts({ store: createMemoryStore(), files: createFolderFileStore({ folder }) });
    return { store, cleanup: () => rm(folder, { recursive: true, force: true }) };
  },
  { reopen: "memory ends with its process", another: "memory belongs to one process" },
);

let database: Database;
beforeAll(async () => {
  const postgres = inject("postgres");
  database = await createDatabase(postgres.url, { template: postgres.template });
});
afterAll(() => database.drop());

const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ["memory", async () => createMemoryStore()],
  ["sqlite", async () => createSqliteStore({ file: join(await tempFolder(), "s.db") })],
  ["files", async () => createFilesystemStore({ folder: join(await tempFolder(), "store") })],
  ["postgres", async () => createPostgresStore({ url: database.url, poolSize: 2 })],
];

test("a session can be read even if a text looks like a reference to a large text, or an event has a forged mark for large texts", async () => {
  const store = keepLargeTexts({ store: createMemoryStore() });
  const script = createScript({ store, ids });
  await script.create({ title: NAUGHTY, $moved_texts: true } as object);
  await script.toolTurn(NAUGHTY);
  expect(JSON.stringify(await store.read(script.sessionId))).toContain(JSON.stringify(NAUGHTY));
  expect(JSON.stringify(await store.messages(script.sessionId, {}))).toContain(JSON.stringify(NAUGHTY));
  for await (const { data } of store.scan()) expect(data).not.toHaveProperty("$moved_texts");
});

describe.each(STORES)("large texts of %s", (_, open) => {
  async function opened() {
    const [plain, folder] = [await open(), await tempFolder()];
    onTestFinished(() => plain.close());
    const files = createFolderFileStore({ folder });
    const store = keepLargeTexts({ store: plain, files });
    const script = createScript({ store, ids });
    await script.create();
    const prompted = async (text: string): Promise<void> => void (await script.prompt(text));
    const stored = async (): Promise<readonly string[]> => readdir(join(folder, script.sessionId)).catch(() => []);
    return { plain, store, files, folder, prompted, stored, sessionId: script.sessionId };
  }

  test("large texts are stored once, come back exactly, and are read by a server that did not write them", async () => {
    const { plain, store, files, prompted, stored, sessionId } = await opened();
    const heard: unknown[] = [];
    store.onNews((_id, events) => heard.push(...(events ?? []).map(({ data }) => data)));
    await prompted(LARGE);
    await prompted(LARGE);
    await prompted("small");
    expect(await stored()).toHaveLength(1);
    const raw = await plain.read(sessionId);
    expect(Math.max(...raw.map(({ data }) => JSON.stringify(data).length))).toBeLessThan(5000);
    const other = keepLargeTexts({ store: plain, files });
    const [mine, theirs] = [await store.read(sessionId), await other.read(sessionId)];
    expect(JSON.stringify(theirs)).toBe(JSON.stringify(mine));
    expect(JSON.stringify(theirs)).toContain(JSON.stringify(LARGE));
    expect(JSON.stringify(theirs)).not.toContain("$moved_texts");
    expect(JSON.stringify(heard)).toContain(JSON.stringify(LARGE));
    const following = new AbortController();
    const followed: unknown[] = [];
    for await (const event of other.follow(sessionId, { after: 0 }, following.signal)) {
      followed.push(event);
      if (followed.length === mine.length) break;
    }
    expect(JSON.stringify(followed)).toBe(JSON.stringify(mine));
  });

  test("large texts are deleted with their session", async () => {
    const { store, prompted, stored, sessionId } = await opened();
    await prompted(LARGE);
    expect(await stored()).toHaveLength(1);
    await store.delete(sessionId);
    expect(await stored()).toEqual([]);
  });
});

test("a large text that cannot be stored as a file stays in the log, and the next attempt comes 5 s after a failed attempt", async () => {
  const reported: unknown[] = [];
  const folder = await tempFolder();
  const place = createFolderFileStore({ folder });
  let isSilent = true;
  let now = 0;
  const files: FileStore = {
    ...place,
    async put(file) {
      if (!isSilent) return place.put(file);
      now += 5000;
      throw new KnownError("files_unavailable", "The bucket did not answer.");
    },
  };
  const store = keepLargeTexts({
    store: createMemoryStore(),
    files,
    report: (error) => void reported.push(error),
    now: () => now,
  });
  const script = createScript({ store, ids });
  await script.create();
  await script.prompt(LARGE);
  expect(JSON.stringify(await store.read(script.sessionId))).toContain(JSON.stringify(LARGE));
  now = 9999;
  await script.prompt(LARGE);
  expect(reported).toHaveLength(1);
  isSilent = false;
  await script.prompt(LARGE);
  expect(await readdir(folder)).toEqual([]);
  now = 10_000;
  await script.prompt(LARGE);
  expect(await readdir(folder)).toEqual([script.sessionId]);
  expect(JSON.stringify(await store.read(script.sessionId)).split(JSON.stringify(LARGE))).toHaveLength(5);
});

test("a large text that cannot be read, because its file or the file store is gone, is an error, and never appears as another text", async () => {
  const plain = createMemoryStore();
  const files = createFolderFileStore({ folder: await tempFolder() });
  const script = createScript({ store: keepLargeTexts({ store: plain, files }), ids });
  await script.create();
  await script.prompt(LARGE);
  const readWith = (place: FileStore | undefined) =>
    keepLargeTexts({ store: plain, readFrom: async () => place }).read(script.sessionId);
  const away = { ...files, get: () => Promise.reject(new KnownError("files_unavailable", "The bucket is away.")) };
  await expect(readWith(away)).rejects.toMatchObject({ code: "store_unavailable" });
  await expect(readWith(undefined)).rejects.toThrow("SKEIN_FILES");
  await files.deleteSession?.(script.sessionId);
  await expect(readWith(files)).rejects.toMatchObject({ code: "store_corrupt" });
});

test("a large text of another session cannot be read by its hash", async () => {
  const [plain, files] = [createMemoryStore(), createFolderFileStore({ folder: await tempFolder() })];
  const store = keepLargeTexts({ store: plain, files });
  const [owner, thief] = [createScript({ store, ids }), createScript({ store, ids, tenant: "thief" })];
  await owner.create();
  await thief.create();
  await owner.prompt(LARGE);
  const place = JSON.stringify(await plain.read(owner.sessionId)).match(/skein-text:[0-9a-f]{64}:\d+:/)?.[0] ?? "";
  await thief.prompt(place);
  const { items } = await store.messages(thief.sessionId);
  expect(JSON.stringify([items, await store.read(thief.sessionId)])).not.toContain("Zeile");
});

test("files without a session are found, but not the files of a session that is about to begin", async () => {
  const [plain, files] = [createMemoryStore(), createFolderFileStore({ folder: await tempFolder() })];
  const store = keepLargeTexts({ store: plain, files });
  const [kept, beginning] = [createScript({ store, ids }), createScript({ store, ids })];
  await kept.create();
  await kept.prompt(LARGE);
  const bytes = new Uint8Array(1);
  const gone = "01a1de6b-ce85-73e6-957e-30f2af6e7b79";
  for (const sessionId of [gone, beginning.sessionId])
    await files.put({ sessionId, fileId: "f", filename: "x", bytes });
  const found = await orphanedFiles(store, files, () => beginning.create());
  expect(found).toEqual([gone]);
});
