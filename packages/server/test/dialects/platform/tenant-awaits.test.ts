/** The awaits (tool calls that wait for an answer) of all sessions of a tenant in one list. */
import { expect, test } from "vitest";
import { createKeys } from "@skein/server";
import { openStore } from "skein/stores";
import { type Caller, caller, folder, say, scripted, session, settled, testServer } from "../../world.ts";
import { storeOf } from "../../any-store.ts";

const ASK = { name: "ask_person", description: "Asks a person.", input_schema: { type: "object", properties: {} } };

async function waiting(call: Caller, agentName: string, id: string) {
  const made = await session(call, { name: agentName, frontend_tools: [ASK] });
  const steps = [{ tools: [{ name: "ask_person", input: { about: id } }] }, { text: "Thanks." }];
  await say(call, made.path, scripted(`Ask ${id}`, steps));
  await settled(call, made.path, "activity", ["awaiting"]);
  return made;
}

test("all open awaits are listed oldest first, page by page, and answered awaits are not listed", async () => {
  const { call } = await testServer();
  const made = [await waiting(call, "One", "a"), await waiting(call, "Two", "b"), await waiting(call, "Two", "c")];
  await session(call);
  const { status, body } = await call("GET", "/v1/awaits");
  expect(status).toBe(200);
  expect(body.data.map(({ session_id }) => session_id)).toEqual(made.map(({ id }) => id));
  expect(body.data[0]).toMatchObject({
    kind: "frontend_tool",
    name: "ask_person",
    input: { about: "a" },
    session: { id: made[0]?.id, agent_id: made[0]?.agentId, agent_name: "One" },
  });
  const seen: unknown[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await call("GET", `/v1/awaits?limit=1${cursor === undefined ? "" : `&cursor=${cursor}`}`);
    seen.push(...page.body.data.map(({ session_id }) => session_id));
    cursor = page.body["next_cursor"] as string | null;
  }
  expect(seen).toEqual(made.map(({ id }) => id));
  const one = await call("GET", `/v1/awaits?agent_id=${made[1]?.agentId}`);
  expect(one.body.data.map(({ session_id }) => session_id)).toEqual([made[1]?.id]);
  expect((await call("GET", "/v1/awaits?kind=question")).body.data).toEqual([]);

  const [first] = body.data;
  const answered = await call("POST", `${made[0]?.path}/awaits/${String(first?.["tool_use_id"])}`, { content: "yes" });
  expect(answered.status).toBe(202);
  await settled(call, made[0]?.path ?? "");
  expect((await call("GET", "/v1/awaits")).body.data).toHaveLength(2);
});

test("awaits of another tenant are not in the list, and an invalid query is 422", async () => {
  const store = await storeOf("sqlite", folder());
  const { url, call } = await testServer({ store });
  await waiting(call, "One", "a");
  const opened = await openStore(store);
  const key = await createKeys({ records: opened.records }).make({ name: "b", scopes: ["admin"], tenant: "other" });
  await opened.close();
  expect((await caller(url, key)("GET", "/v1/awaits")).body).toEqual({ data: [], next_cursor: null });
  for (const query of ["kind=all", "limit=0", "limit=201", "agent_id=x", "cursor=eA", "q=x"])
    expect([query, (await call("GET", `/v1/awaits?${query}`)).status]).toEqual([query, 422]);
  expect((await caller(url, undefined)("GET", "/v1/awaits")).status).toBe(401);
});
