import { connect } from "node:net";
import { expect, test } from "vitest";
import type { Call, Totals } from "@skein/simulator";
import { ask, HEADERS, play, rig } from "./client.ts";

test("every call is recorded in order, with its request and its usage", async () => {
  const { client, simulator } = await rig();
  await client.messages.create(play({ tools: [{ name: "t" }] }), { headers: { "x-user": "u-42" } });
  await client.messages.stream(ask("hello")).finalMessage();
  await client.messages.countTokens({ model: "m", messages: [{ role: "user", content: "hi" }] });
  await client.messages.create({ ...ask("hi"), messages: [] }).catch(() => null);

  const calls = simulator.ledger.calls();
  expect(calls).toMatchObject([
    {
      kind: "messages",
      stream: false,
      label: "test",
      step: 0,
      outcome: "answered",
      status: 200,
      stopReason: "tool_use",
    },
    { kind: "messages", stream: true, label: null, step: null, outcome: "answered", stopReason: "end_turn" },
    { kind: "count_tokens", outcome: "answered", model: "m" },
    { kind: "messages", outcome: "rejected", status: 400, error: "messages: at least one message is required" },
  ]);
  expect(calls[0]?.headers).toMatchObject({ "x-user": "u-42", "x-stainless-lang": "js" });
  expect(calls[1]?.request).toMatchObject({ model: "claude-opus-5-5", messages: [{ content: "hello" }] });
  expect(calls[0]?.durationMs).toBeGreaterThan(0);
  expect(calls[0]?.durationMs).toBeLessThan(1000);

  const spent = (key: "input_tokens" | "output_tokens") =>
    (calls[0]?.usage?.[key] ?? 0) + (calls[1]?.usage?.[key] ?? 0);
  expect(simulator.ledger.totals()).toMatchObject({
    calls: 4,
    outcomes: { answered: 3, rejected: 1, open: 0 },
    usage: { input_tokens: spent("input_tokens"), output_tokens: spent("output_tokens") },
  });
  expect(simulator.ledger.calls({ label: "test" })).toHaveLength(1);
  expect(simulator.ledger.calls({ kind: "messages", outcome: "rejected" })).toHaveLength(1);
});

test("the API key in the header x-api-key is not recorded", async () => {
  const { client, simulator } = await rig();
  await client.models.list();
  await fetch(`${simulator.url}/v1/models`, { headers: HEADERS });
  expect(simulator.ledger.calls()).toHaveLength(2);
  expect(JSON.stringify(simulator.ledger.calls())).not.toContain("sk-ant");
});

test("another process can read and clear the ledger over HTTP", async () => {
  const { client, simulator } = await rig();
  await client.messages.create(play({ text: "hi" }));
  await client.messages.create(ask("hello"));
  const read = async (query: string) => {
    const response = await fetch(`${simulator.url}/simulator/ledger${query}`);
    return (await response.json()) as { totals: Totals; calls: Call[] };
  };
  expect(await read("")).toEqual({ totals: simulator.ledger.totals(), calls: simulator.ledger.calls() });
  expect((await read("?label=test")).calls).toHaveLength(1);
  expect((await fetch(`${simulator.url}/simulator/ledger`, { method: "DELETE" })).status).toBe(204);
  expect(await read("")).toMatchObject({ totals: { calls: 0 }, calls: [] });
});

test("old bodies and old calls are dropped, but the totals stay", async () => {
  const { client, simulator } = await rig({ keepBodies: 2, keepCalls: 3 });
  for (let index = 0; index < 5; index += 1) await client.messages.create(ask("hello"));
  expect(simulator.ledger.calls().map((call) => call.request !== null)).toEqual([false, true, true]);
  expect(simulator.ledger.totals().calls).toBe(5);
});

test("a test can give the simulator a clock and ids", async () => {
  let count = 0;
  const { client, simulator } = await rig({ now: () => 1_000, ids: (prefix) => `${prefix}${(count += 1)}` });
  const message = await client.messages.create(play({ tools: [{ name: "t" }] }));
  expect(message).toMatchObject({ id: "msg_3", content: [{ id: "toolu_2" }] });
  expect(simulator.ledger.calls()[0]).toMatchObject({ id: "req_1", at: 1_000, durationMs: 0 });
});

test("a call whose client disconnects in the middle of its request is recorded as aborted", async () => {
  const { simulator } = await rig();
  const socket = connect(simulator.port, "127.0.0.1");
  const head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n";
  socket.write(`${head}content-length: 1000\r\n\r\n{"model":`);
  await expect.poll(() => simulator.ledger.calls().length).toBe(1);
  socket.destroy();
  await expect.poll(() => simulator.ledger.calls()[0]).toMatchObject({ outcome: "aborted", status: null });
});
