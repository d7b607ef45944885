/** Tests reading a log from its end, and the list of its steps (model calls). */
import type { SentRequest } from "@skein/protocol";
import { expect, test } from "vitest";
import { say, scripted, session, settled, testServer } from "../../world.ts";

test("a log is read from its end, page by page, and each page has its oldest event first", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  await say(call, path, scripted("Hi.", [{ text: "Hello." }]));
  await settled(call, path);
  const all = (await call("GET", `${path}/events?limit=1000`)).body.data;
  const last = (await call("GET", `${path}/events?order=last&limit=3`)).body;
  expect(last.data).toEqual(all.slice(-3));
  expect(last["next_before"]).toBe(all.length - 2);
  const seen = [...last.data];
  for (let before = last["next_before"] as number | null; before !== null;) {
    const page = (await call("GET", `${path}/events?before=${before}&limit=2`)).body;
    seen.unshift(...page.data);
    before = page["next_before"] as number | null;
  }
  expect(seen).toEqual(all);
  expect((await call("GET", `${path}/events?order=last`)).body.data).toEqual(all);
  expect((await call("GET", `${path}/events?before=1`)).body).toEqual({
    data: [],
    next_after: null,
    next_before: null,
  });
  expect((await call("GET", `${path}/events?before=9007199254740991`)).body.data).toEqual(all);
  for (const query of ["before=0", "order=first", "before=3&after=1", "order=last&limit=0"])
    expect([query, (await call("GET", `${path}/events?${query}`)).status]).toEqual([query, 422]);
  const stream = await call("GET", `${path}/events?order=last`, undefined, { accept: "text/event-stream" });
  expect(stream.status).toBe(422);
});

test("a page of large events from the end of a log ends early", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  for (const name of ["a", "b", "c"]) {
    await say(call, path, `${name.repeat(3 * 1024 * 1024)} ${scripted("", [{ text: "Yes." }])}`);
    await settled(call, path, "activity", ["idle"]);
  }
  const page = (await call("GET", `${path}/events?order=last&limit=1000`)).body;
  const all = (await call("GET", path)).body;
  expect(all["total_runs"]).toBe(3);
  expect(page.data.length).toBeGreaterThan(0);
  expect(page["next_before"]).toBe(page.data[0]?.["sequence"]);
});

test("a step whose answer came without token counts is listed with estimated usage, as its run is", async () => {
  const { call } = await testServer();
  const { path } = await session(call);
  await say(call, path, scripted("Hi.", [{ text: "Hello." }]));
  await settled(call, path);
  const file = (await call("GET", `${path}/export`)).body as unknown as {
    events: { event_type: string; data: object }[];
  };
  const events = file.events.map((event) =>
    event.event_type === "step.generated" ? { ...event, data: { ...event.data, estimated: true } } : event,
  );
  const imported = await call("POST", "/v1/sessions/import", { ...file, events });
  const [own, other] = [path, `/v1/sessions/${imported.body.id}`];
  for (const [at, estimated] of [
    [own, false],
    [other, true],
  ] as const) {
    const [runs, steps] = [(await call("GET", `${at}/runs`)).body.data, (await call("GET", `${at}/steps`)).body.data];
    expect([...runs, ...steps].map((each) => each["estimated"])).toEqual([...runs, ...steps].map(() => estimated));
    expect(steps).toMatchObject([{ usage: { output_tokens: expect.any(Number) }, reserved_micros: 0 }]);
  }
});

test("steps are listed with attempts, usage and number of tool calls, page by page", async () => {
  const { call } = await testServer();
  const ask = { name: "ask_person", description: "Asks.", input_schema: { type: "object", properties: {} } };
  const { path } = await session(call, { frontend_tools: [ask] });
  await say(call, path, scripted("Ask.", [{ tools: [{ name: "ask_person", input: {} }] }, { text: "Thanks." }]));
  await settled(call, path, "activity", ["awaiting"]);
  const [open] = (await call("GET", `${path}/awaits`)).body.data;
  await call("POST", `${path}/awaits/${String(open?.["tool_use_id"])}`, { content: "yes" });
  await settled(call, path);
  const { data } = (await call("GET", `${path}/steps`)).body;
  const steps = data.filter(({ purpose }) => purpose === "step");
  expect(steps).toMatchObject([
    {
      step: 1,
      attempt: 1,
      state: "generated",
      calls: 1,
      stop_reason: "tool_use",
      usage: { output_tokens: expect.any(Number) },
    },
    { step: 2, attempt: 1, state: "generated", calls: 0, stop_reason: "end_turn", error: null },
  ]);
  const seen: unknown[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await call("GET", `${path}/steps?limit=1${cursor === undefined ? "" : `&cursor=${cursor}`}`);
    seen.push(...page.body.data);
    cursor = page.body["next_cursor"] as string | null;
  }
  expect(seen).toEqual(data);
  const [first] = steps;
  const step = `${path}/runs/${String(first?.["run_id"])}/steps/1`;
  expect((await call("GET", `${step}?attempt=1`)).body.data).toHaveLength(1);
  expect((await call("GET", `${step}?attempt=2`)).status).toBe(404);
  // Each part of the second request names the event that contained it.
  const [second] = (await call("GET", step.replace(/1$/, "2"))).body.data as unknown as SentRequest[];
  const log = (await call("GET", `${path}/events`)).body.data as { sequence: number; event_type: string }[];
  const typeAt = (sequence: number | null): string | undefined =>
    log.find((event) => event.sequence === sequence)?.event_type;
  const traced = second?.parts.map(({ origin, sequence }) => [origin, typeAt(sequence)]);
  expect(traced?.filter(([origin]) => origin !== "tools" && origin !== "system")).toEqual([
    ["message", "prompt.accepted"],
    ["model", "step.generated"],
    ["result", "tool.completed"],
  ]);
  expect(second?.parts.every(({ tokens }) => tokens > 0)).toBe(true);
});
