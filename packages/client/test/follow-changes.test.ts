/** Tests that the client follows the stream of changes of all sessions. */
import { createClient } from "@skein/client";
import { expect, test } from "vitest";
import { storeOf } from "../../server/test/any-store.ts";
import { type TestServer, folder, say, scripted, session, settled, testServer } from "../../server/test/world.ts";

/** Creates a session and completes a run in it. */
async function run({ call }: TestServer): Promise<string> {
  const { id, path } = await session(call);
  await say(call, path, scripted("Hi.", [{ text: "Hello." }]));
  await settled(call, path);
  return id;
}

test("the client follows changes while servers stop and start, and misses none", async () => {
  const store = await storeOf("sqlite", folder());
  const data = folder();
  let server = await testServer({ store, data });
  const stop = new AbortController();
  const seen = new Map<string, string>();
  let opened = 0;
  // The address changes with each server, but the client requests the same path.
  const fetchNow: typeof fetch = (address, init) => {
    const { pathname, search } = new URL(address as string);
    return fetch(`${server.url}${pathname}${search}`, init);
  };
  const client = createClient({ url: server.url, apiKey: server.key, fetch: fetchNow });
  const following = (async () => {
    for await (const one of client.followChanges({ signal: stop.signal })) {
      if (one.type === "opened") opened += 1;
      if (one.type === "change") seen.set(one.session.id, one.session.status);
    }
  })();
  await expect.poll(() => opened).toBe(1);
  const made: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    made.push(await run(server));
    await server.close();
    server = await testServer({ store, data });
    made.push(await run(server));
  }
  await expect.poll(() => made.map((id) => seen.get(id))).toEqual(made.map(() => "completed"));
  expect(opened).toBeGreaterThan(1);
  stop.abort();
  await following;
});
