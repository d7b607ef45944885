import { defineTool } from "skein";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { STORES, eventsOf, expectUsable, resultOf, storeUrl } from "./world.ts";

const MANY = 10 * 1024 * 1024;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const odd: [string, () => unknown, object][] = [
  ["throws", () => Promise.reject(new Error("no such city")), { is_error: true, content: "no such city" }],
  ["throws undefined", () => Promise.reject(undefined), { is_error: true, content: expect.stringContaining("why") }],
  ["throws at once", thrower, { is_error: true, content: "at once" }],
  [
    "returns 10 MB",
    () => "x".repeat(MANY),
    { is_error: false, content: expect.stringContaining(`${MANY} characters`) },
  ],
  ["returns bytes", () => new Uint8Array(300), { is_error: false, content: expect.stringContaining("300 bytes") }],
  ["returns bytes in a buffer", () => new ArrayBuffer(7), { content: expect.stringContaining("7 bytes") }],
  ["returns nothing", () => undefined, { is_error: false, content: "" }],
  ["returns an object", () => ({ a: 1 }), { is_error: false, content: '{"a":1}' }],
  [
    "returns an object that contains itself",
    circle,
    { is_error: false, content: expect.stringContaining("cannot be shown as JSON") },
  ],
  ["returns a map", () => new Map([["a", 1n]]), { is_error: false, content: '[["a","1"]]' }],
  ["returns a set", () => ({ seen: new Set([1]) }), { is_error: false, content: '{"seen":[1]}' }],
  ["returns an error", () => new Error("no such city"), { is_error: false, content: "no such city" }],
  ["returns a response", () => new Response("x"), { content: expect.stringContaining("returned a Response") }],
  ["returns small numbers", () => new Uint16Array(2), { content: expect.stringContaining("4 bytes") }],
  ["returns a large number", () => 10n ** 20n, { content: "100000000000000000000" }],
  ["returns a function", () => () => 1, { content: expect.stringContaining("returned a function") }],
  ["returns empty blocks", () => [{ type: "text", text: "" }], { is_error: false }],
  ["returns no blocks", () => [], { content: "[]" }],
  ["returns half a surrogate pair", () => "\ud83d", { is_error: false }],
  ["returns an image that is not valid", () => [image("image/png", "bm90IGEgcG5n")], { content: [{ type: "text" }] }],
  ["returns an image", () => [image("image/png", png.toString("base64"))], { content: [{ type: "image" }] }],
];

function thrower(): never {
  throw new Error("at once");
}

function circle(): object {
  const self: Record<string, unknown> = {};
  return (self["self"] = self);
}

function image(media_type: string, data: string) {
  return { type: "image", source: { type: "base64", media_type, data } };
}

describe.each(STORES)("on the %s store", (kind) => {
  const withTool = (name: string, run: () => unknown, options: object = {}) =>
    simulatedAgent({
      tools: [defineTool({ name, description: "Odd.", input: z.object({}), run, ...options })],
      store: storeUrl(kind),
    });

  test.each(odd)("if a tool %s, the model gets a fitting result and the run continues", async (what, run, expected) => {
    const { agent } = await withTool("odd", run);
    const prompt = scripted(`${what} ${kind}`, [{ tools: [{ name: "odd", id: "toolu_1" }] }, { text: "On." }]);
    const result = await agent.run(prompt);
    expect(result).toMatchObject({ error: null, finalAnswer: "On." });
    expect(await resultOf(agent, result.sessionId, "toolu_1")).toMatchObject(expected);
    await expectUsable(agent, result.sessionId);
  });

  test("a tool call whose time limit is longer than any timer does not time out immediately", async () => {
    const { agent } = await withTool("patient", () => "came", { timeoutMs: 1e12 });
    const slow = await withTool("slow", () => new Promise((resolve) => setTimeout(resolve, 50, "came")), {
      timeoutMs: 1e12,
    });
    const prompt = (name: string): string => scripted(`${name} ${kind}`, [{ tools: [{ name }] }, { text: "$LAST" }]);
    expect((await agent.run(prompt("patient"))).finalAnswer).toBe("came");
    expect((await slow.agent.run(prompt("slow"))).finalAnswer).toBe("came");
  });

  test("a tool that takes longer than its time limit is aborted through its signal", async () => {
    let stopped = false;
    const run = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise(() => signal.addEventListener("abort", () => (stopped = true)));
    const { agent } = await withTool("slow", run as () => unknown, { timeoutMs: 50 });
    const { finalAnswer } = await agent.run(
      scripted(`late ${kind}`, [{ tools: [{ name: "slow" }] }, { text: "$LAST" }]),
    );
    expect(finalAnswer).toBe('The tool "slow" did not answer within 50 ms.');
    expect(stopped).toBe(true);
  });

  test("the model is told about unknown tools and invalid input", async () => {
    const strict = { input: z.object({ city: z.string() }) };
    const { agent } = await withTool("weather", () => "sun", strict);
    const calls = [
      { name: "nothing", id: "toolu_1" },
      { name: "weather", id: "toolu_2", input: { city: 5 } },
    ];
    const result = await agent.run(scripted(`misfits ${kind}`, [{ tools: calls }, { text: "On." }]));
    expect(result.finalAnswer).toBe("On.");
    expect(await resultOf(agent, result.sessionId, "toolu_1")).toMatchObject({
      content: expect.stringContaining('no tool named "nothing"'),
    });
    expect(await resultOf(agent, result.sessionId, "toolu_2")).toMatchObject({
      content: expect.stringContaining("city"),
      is_error: true,
    });
  });

  test("tool calls of one step run in parallel up to the limit, and their results keep the order of the calls", async () => {
    let now = 0;
    let most = 0;
    const work = defineTool({
      name: "work",
      description: "Works.",
      input: z.object({ n: z.number() }),
      run: async ({ n }) => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 40 - n * 4));
        now -= 1;
        return `r${n}`;
      },
    });
    const { agent } = await simulatedAgent({ tools: [work], max_parallel_tool_calls: 3, store: storeUrl(kind) });
    const calls = Array.from({ length: 8 }, (_, n) => ({ name: "work", input: { n } }));
    const result = await agent.run(scripted(`parallel ${kind}`, [{ tools: calls }, { text: "Done." }]));
    expect(most).toBe(3);
    const results = result.conversationHistory[2]?.content as unknown as { content: string }[];
    expect(results.map(({ content }) => content)).toEqual(calls.map((_, n) => `r${n}`));
    const ends = (await eventsOf(agent, result.sessionId, "tool.completed")).map(({ data }) => data.part);
    expect(ends).not.toEqual(ends.toSorted((a, b) => a - b));
  });
});

test("a tool with alternatives at the root of its schema can be called, and its input must fit one of them", async () => {
  const text = { type: "string" };
  const attach = defineTool({
    name: "attach",
    description: "Attaches a file or a page.",
    input: {
      type: "object",
      anyOf: [
        { type: "object", properties: { file: text }, required: ["file"] },
        { type: "object", properties: { url: text }, required: ["url"] },
      ],
    },
    run: ({ file, url }) => `attached ${String(file ?? url)}`,
  });
  const { agent } = await simulatedAgent({ tools: [attach] });
  const tools = [
    { name: "attach", id: "toolu_1", input: { file: "a.txt" } },
    { name: "attach", id: "toolu_2", input: {} },
  ];
  const { sessionId, error } = await agent.run(scripted("attach", [{ tools }, { text: "Done." }]));
  expect(error).toBeNull();
  expect(await resultOf(agent, sessionId, "toolu_1")).toMatchObject({ content: "attached a.txt", is_error: false });
  expect(await resultOf(agent, sessionId, "toolu_2")).toMatchObject({ is_error: true });
});
