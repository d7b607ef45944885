import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createScript } from "@skein/core/testing";
import { type Session, createIds } from "@skein/protocol";
import { expect, onTestFinished, test } from "vitest";

const ids = createIds();

/** Creates two stores on one file, as in two processes, and a session. */
async function twoStores() {
  const folder = mkdtempSync(join(tmpdir(), "skein-sqlite-cache-"));
  const [here, there] = [
    await createSqliteStore({ file: join(folder, "skein.db") }),
    await createSqliteStore({ file: join(folder, "skein.db") }),
  ];
  onTestFinished(async () => {
    await here.close();
    await there.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const script = createScript({ store: here, ids });
  await script.create();
  const { sessionId } = script;
  const read = async (): Promise<readonly (Session | undefined)[]> => {
    const { items } = await here.list({ tenant: "default" });
    return [await here.get(sessionId), ...items];
  };
  const rename = (store: typeof here, title: string): Promise<unknown> =>
    store.append(sessionId, [{ id: ids(), event_type: "session.edited", data: { title } }]);
  return { here, there, sessionId, read, rename };
}

test("get and list return the same object for an unchanged session", async () => {
  const { read } = await twoStores();
  const [first] = await read();
  expect(first).toBeDefined();
  for (const session of await read()) expect(session).toBe(first);
});

test("the next reader sees a write or a deletion by any process", async () => {
  const { here, there, sessionId, read, rename } = await twoStores();
  await read();
  await rename(here, "Ours");
  expect((await read()).map((session) => session?.title)).toEqual(["Ours", "Ours"]);
  await rename(there, "Theirs");
  expect((await read()).map((session) => session?.title)).toEqual(["Theirs", "Theirs"]);
  // The session is written and read in the same turn of the event loop.
  await nextTurn();
  await Promise.all([rename(there, "At once"), here.get(sessionId)]);
  expect((await here.get(sessionId))?.title).toBe("At once");
  await there.delete(sessionId);
  expect(await read()).toEqual([undefined]);
});

test("a page is the same object until a write, and then a new page contains the change", async () => {
  const { here, there } = await twoStores();
  const page = () => here.list({ tenant: "default", limit: 10 });
  const first = await page();
  expect(await page()).toBe(first);
  await createScript({ store: here, ids }).create();
  expect((await page()).items).toHaveLength(2);
  await createScript({ store: there, ids }).create();
  expect((await page()).items).toHaveLength(3);
  expect((await here.list({ tenant: "default", limit: 2 })).items).toHaveLength(2);
});

test("a cached session is still hidden from other tenants", async () => {
  const { here, sessionId, read } = await twoStores();
  await read();
  expect(await here.get(sessionId, { tenant: "other" })).toBeUndefined();
  expect((await here.list({ tenant: "other" })).items).toEqual([]);
});
