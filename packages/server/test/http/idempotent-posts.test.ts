import { openStore } from "skein/stores";
import { expect, test } from "vitest";
import { type Caller, folder, say, scripted, session, settled, testServer } from "../world.ts";

/** POSTs that create or change something, each with a function that counts the effects. */
const POSTS: readonly (readonly [
  name: string,
  prepare: (call: Caller) => Promise<readonly [path: string, body: unknown]>,
  count: (call: Caller, path: string) => Promise<number>,
])[] = [
  [
    "an agent",
    async () => ["/v1/agents", { name: "Made once" }],
    async (call) =>
      (await call("GET", "/v1/agents?limit=200")).body.data.filter(({ name }) => name === "Made once").length,
  ],
  [
    "a webhook",
    async () => ["/v1/webhooks", { url: "https://example.com/once", events: ["session.created"] }],
    async (call) => (await call("GET", "/v1/webhooks")).body.data.length,
  ],
  [
    "a session",
    async (call) => [`/v1/agents/${(await session(call)).agentId}/sessions`, {}],
    async (call, path) => (await call("GET", path)).body.data.length - 1,
  ],
  [
    "a fork",
    async (call) => {
      const { path } = await session(call, { name: "Forked" });
      await say(call, path, scripted("Hi.", [{ text: "Hello." }]));
      await settled(call, path);
      return [`${path}/fork`, {}];
    },
    async (call, path) => {
      const parent = path.split("/")[3];
      const { data } = (await call("GET", "/v1/sessions?limit=200")).body;
      return data.filter(({ parent_session_id }) => parent_session_id === parent).length;
    },
  ],
  [
    "an import",
    async (call) => {
      const { path } = await session(call, { name: "Imported" });
      return ["/v1/sessions/import", (await call("GET", `${path}/export`)).body];
    },
    async (call) => {
      const { data: agents } = (await call("GET", "/v1/agents?limit=200")).body;
      const id = String(agents.find(({ name }) => name === "Imported")?.["id"]);
      return (await call("GET", `/v1/agents/${id}/sessions`)).body.data.length - 1;
    },
  ],
  [
    "a message",
    async (call) => [`${(await session(call)).path}/messages`, { role: "user", content: { text: "Once." } }],
    async (call, path) => (await call("GET", path.replace("/messages", "/runs"))).body.data.length,
  ],
  [
    "a cancel",
    async (call) => {
      const { path } = await session(call);
      await say(call, path, scripted("Hang.", [{ hang: true }]));
      await settled(call, path, "status", ["running"]);
      return [`${path}/cancel`, {}];
    },
    async (call, path) => {
      const { data } = (await call("GET", path.replace("/cancel", "/events"))).body;
      return data.filter(({ event_type }) => event_type === "cancel.requested").length;
    },
  ],
];

test("a repeated POST whose server died before its response was stored gets the same status and ids, and is not done twice", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const { call } = await testServer({ store });
  const other = await openStore(store);
  for (const [name, prepare, count] of POSTS) {
    const [path, body] = await prepare(call);
    const key = { "idempotency-key": name };
    const first = await call("POST", path, body, key);
    expect([name, first.status]).toEqual([name, expect.toSatisfy((status: number) => status < 300)]);
    // This is the state after a crash between the work and its response.
    const { items } = await other.records.list({ tenant: "$idempotency", kind: "answer", limit: 100 });
    const [kept] = items.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    const { value, ...record } = kept as (typeof items)[number];
    await other.records.put([{ ...record, value: { ...(value as object), owner: "? dead", since: 0, answer: null } }]);
    if (name === "a cancel") await settled(call, path.replace("/cancel", ""));

    const again = await call("POST", path, body, key);
    expect([name, again.status, again.body]).toEqual([name, first.status, expect.anything()]);
    expect([name, again.body["id"], again.body["run_id"]]).toEqual([name, first.body["id"], first.body["run_id"]]);
    expect([name, await count(call, path)]).toEqual([name, 1]);
  }
  await other.close();
}, 60_000);
