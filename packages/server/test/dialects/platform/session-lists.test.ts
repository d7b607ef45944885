/** Lists of sessions with their activity, their awaits (tool calls that wait for an answer), and their last message. */
import { expect, test } from "vitest";
import { say, scripted, session, settled, testServer } from "../../world.ts";

const ASK = { name: "ask_person", description: "Asks a person.", input_schema: { type: "object", properties: {} } };

test("lists of sessions have activity, awaits, last message and count, and can be sorted by last use", async () => {
  const { call } = await testServer();
  const idle = await session(call);
  const done = await session(call, { frontend_tools: [ASK] });
  const waiting = await session(call, { frontend_tools: [ASK] });
  await say(
    call,
    waiting.path,
    scripted("Ask.", [{ tools: [{ name: "ask_person", input: {} }] }, { text: "Thanks." }]),
  );
  await settled(call, waiting.path, "activity", ["awaiting"]);
  await say(call, done.path, scripted("Long.", [{ text: "x".repeat(500) }]));
  await settled(call, done.path);
  const list = async (query: string) => (await call("GET", `/v1/sessions?${query}`)).body;
  const ids = async (query: string) => (await list(query)).data.map(({ id }) => id);

  expect(await ids("")).toEqual([waiting.id, done.id, idle.id]);
  expect(await ids("sort=last_run")).toEqual([done.id, waiting.id, idle.id]);
  expect(await ids("activity=awaiting")).toEqual([waiting.id]);
  expect(await ids("activity=idle")).toEqual([done.id, idle.id]);
  expect(await ids("top_level=true&activity=running")).toEqual([]);
  expect(await ids("outcome=completed")).toEqual([done.id]);
  expect(await ids("offset=1&limit=1")).toEqual([done.id]);
  await call("PATCH", idle.path, { title: "Über the Moon" });
  expect(await ids("title=%C3%BCBER")).toEqual([idle.id]);
  expect(await ids(`ids=${done.id},${waiting.id},${crypto.randomUUID()}`)).toEqual(
    expect.arrayContaining([done.id, waiting.id]),
  );
  expect(await ids(`ids=${crypto.randomUUID()}`)).toEqual([]);
  expect(await ids("model=no-such-model")).toEqual([]);
  await call("PATCH", done.path, { tags: ["red", "blue"] });
  await call("PATCH", idle.path, { tags: ["red"] });
  expect(await ids("tag=red")).toEqual([done.id, idle.id]);
  expect(await ids("tag=red&tag=blue")).toEqual([done.id]);
  const made = (await list("")).data.map(({ id, created_at }) => ({ id, at: String(created_at) }));
  const at = made[1]?.at ?? "";
  const since = made.filter((one) => one.at >= at).map(({ id }) => id);
  expect(await ids(`from=${at}`)).toEqual(since);
  expect(await list(`to=${at}&count=true`)).toMatchObject({ total: 3 - since.length });
  expect(await ids(`from=${at}&to=${at}`)).toEqual([]);
  const counted = await list("count=true&limit=1&sort=last_run");
  expect([counted["total"], counted.data.length]).toEqual([3, 1]);
  expect(await ids(`sort=last_run&limit=1&cursor=${String(counted["next_cursor"])}`)).toEqual([waiting.id]);

  expect(await ids("sort=title")).toEqual([idle.id, ...(await ids("sort=title")).slice(1)]);
  const dearest = await list("sort=cost&limit=1");
  expect(await ids(`sort=cost&limit=2&cursor=${String(dearest["next_cursor"])}`)).toHaveLength(2);
  expect((await call("GET", `/v1/sessions?sort=cost&cursor=${String(counted["next_cursor"])}`)).status).toBe(422);

  const search = async (query: string) => (await call("GET", `/v1/search?${query}`)).body;
  expect(await search("q=XXXX")).toMatchObject({
    data: [
      {
        session: { id: done.id },
        role: "assistant",
        sequence: expect.any(Number),
        excerpt: expect.stringMatching(/^x{150,}$/),
      },
    ],
    next_cursor: null,
    searched_until: (await list("ids=" + idle.id)).data[0]?.["created_at"],
  });
  expect((await search("q=ask_person")).data.map(({ session: one }) => (one as { id: string }).id)).toEqual([
    waiting.id,
  ]);
  expect((await search(`q=ask_person&agent_id=${done.agentId}`)).data).toEqual([]);
  expect((await search("q=ask_person&include=has_queued_prompt,open_awaits")).data).toMatchObject([
    { session: { id: waiting.id, has_queued_prompt: false, open_awaits: { frontend_tool: 1 } } },
  ]);
  for (const query of ["", "q=x", "q=xx&limit=0", "q=xx&cursor=1", "q=xx&include=nothing"])
    expect([query, (await call("GET", `/v1/search?${query}`)).status]).toEqual([query, 422]);

  const shown = (await list("include=last_message,open_awaits")).data;
  expect(shown[0]).toMatchObject({ open_awaits: { frontend_tool: 1, question: 0, approval: 0, subagent: 0 } });
  expect(shown[1]).toMatchObject({
    last_message: { role: "assistant", text: "x".repeat(200), created_at: expect.any(String) },
    open_awaits: { frontend_tool: 0 },
  });
  expect(shown[2]).toMatchObject({ last_message: null });
  expect((await list("include=last_message")).data[0]).not.toHaveProperty("open_awaits");
  const ofAgent = (await call("GET", `/v1/agents/${done.agentId}/sessions?count=true&include=last_message`)).body;
  expect([ofAgent["total"], ofAgent.data[0]?.["id"]]).toEqual([1, done.id]);
  for (const query of [
    "activity=busy",
    "top_level=yes",
    "sort=price",
    "count=1",
    "include=all",
    "include=",
    "from=today",
  ])
    expect([query, (await call("GET", `/v1/sessions?${query}`)).status]).toEqual([query, 422]);
});

test("a session without a title has its first prompt in a list that requests it, on one line and cut", async () => {
  const { call } = await testServer();
  const untitled = await session(call);
  await say(call, untitled.path, scripted(`What is\n  this ${"x".repeat(300)}`, [{ text: "It." }]));
  await say(call, untitled.path, scripted("And that?", [{ text: "That." }]));
  const silent = await session(call);
  const titled = await session(call);
  await say(call, titled.path, scripted("Hello", [{ text: "Hi." }]));
  await call("PATCH", titled.path, { title: "Greetings" });
  const fork = (await call("POST", `${untitled.path}/fork`, {})).body as unknown as { readonly id: string };
  const ids = [untitled.id, silent.id, titled.id, fork.id];
  const { data } = (await call("GET", `/v1/sessions?ids=${ids.join()}&include=first_prompt`)).body;
  const prompts = ids.map((id) => data.find((one) => one["id"] === id)?.["first_prompt"]);
  expect(prompts[0]).toMatch(/^What is this x+$/);
  expect(String(prompts[0])).toHaveLength(200);
  expect(prompts.slice(1)).toEqual([null, null, prompts[0]]);
  expect((await call("GET", `/v1/sessions?ids=${untitled.id}`)).body.data[0]).not.toHaveProperty("first_prompt");
});
