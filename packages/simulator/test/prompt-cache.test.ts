import { expect, test } from "vitest";
import type Anthropic from "@anthropic-ai/sdk";
import { ask, rig } from "./client.ts";

const LONG = "word ".repeat(2000); // 10,000 bytes, 2,500 tokens and a little for its JSON
const MINUTE = 60_000;
const mark = (ttl?: "1h" | "5m"): Anthropic.CacheControlEphemeral => ({ type: "ephemeral", ...(ttl && { ttl }) });
const system = (text: string, ttl?: "1h" | "5m"): Anthropic.TextBlockParam[] => [
  { type: "text", text, cache_control: mark(ttl) },
];

async function cacheRig() {
  let time = Date.parse("2026-11-01T12:00:00Z");
  const { client } = await rig({ now: () => time });
  const counters = async (body: Partial<Anthropic.MessageCreateParamsNonStreaming>) => {
    const { usage } = await client.messages.create({ ...ask("hello"), ...body });
    const created = usage.cache_creation;
    expect(usage.cache_creation_input_tokens).toBe(
      (created?.ephemeral_5m_input_tokens ?? 0) + (created?.ephemeral_1h_input_tokens ?? 0),
    );
    return {
      written: usage.cache_creation_input_tokens ?? 0,
      hour: created?.ephemeral_1h_input_tokens ?? 0,
      read: usage.cache_read_input_tokens ?? 0,
      rest: usage.input_tokens,
    };
  };
  return { counters, pass: (ms: number) => (time += ms) };
}

test("the first request writes a marked prefix, the next request reads it, and the counts add up to the whole prompt", async () => {
  const { counters } = await cacheRig();
  const first = await counters({ system: system(LONG) });
  expect(first).toMatchObject({ read: 0, written: expect.closeTo(2510, -2) as number });
  const second = await counters({ system: system(LONG) });
  expect(second).toEqual({ written: 0, hour: 0, read: first.written, rest: first.rest });
  const unmarked = await counters({ system: LONG });
  expect(unmarked).toEqual({ written: 0, hour: 0, read: 0, rest: first.written + first.rest });
});

test("after one changed byte, or with another model or other tools, nothing is read from the cache", async () => {
  const { counters } = await cacheRig();
  await counters({ system: system(LONG) });
  expect(await counters({ system: system(`${LONG}.`) })).toMatchObject({ read: 0 });
  expect(await counters({ system: system(LONG), model: "other" })).toMatchObject({ read: 0 });
  const tools: Anthropic.Tool[] = [{ name: "t", input_schema: { type: "object" } }];
  expect(await counters({ system: system(LONG), tools })).toMatchObject({ read: 0 });
});

test("a prefix under 1,024 tokens is not cached", async () => {
  const { counters } = await cacheRig();
  for (const _ of [1, 2]) {
    expect(await counters({ system: system("word ".repeat(700)) })).toMatchObject({ read: 0, written: 0 });
  }
});

test("a prefix expires five minutes after its last use, or after an hour if requested", async () => {
  const { counters, pass } = await cacheRig();
  await counters({ system: system(LONG) });
  pass(4 * MINUTE);
  expect((await counters({ system: system(LONG) })).read).toBeGreaterThan(2000);
  pass(4 * MINUTE);
  expect((await counters({ system: system(LONG) })).read).toBeGreaterThan(2000);
  pass(5 * MINUTE);
  expect(await counters({ system: system(LONG) })).toMatchObject({ read: 0 });

  const other = `other ${LONG}`;
  const written = await counters({ system: system(other, "1h") });
  expect(written.hour).toBe(written.written);
  pass(59 * MINUTE);
  expect((await counters({ system: system(other, "1h") })).read).toBe(written.written);
});

test("a growing conversation reads the cached part and writes only what is new", async () => {
  const { counters } = await cacheRig();
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: [{ type: "text", text: LONG }] }];
  const marked = (): Anthropic.MessageParam[] =>
    messages.map((message, index) => {
      if (index < messages.length - 1 || typeof message.content === "string") return message;
      const blocks = message.content as Anthropic.TextBlockParam[];
      return { ...message, content: blocks.map((block) => ({ ...block, cache_control: mark() })) };
    });
  const first = await counters({ messages: marked() });
  messages.push({ role: "assistant", content: "ok" }, { role: "user", content: [{ type: "text", text: LONG }] });
  const second = await counters({ messages: marked() });
  expect(second.read).toBe(first.written);
  expect(second.written).toBeGreaterThan(2500);
  expect(second.rest).toBe(0);
});

test("two lifetimes in one prompt are counted separately", async () => {
  const { counters } = await cacheRig();
  const body = {
    system: system(LONG, "1h"),
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: LONG, cache_control: mark() }] }],
  };
  const first = await counters(body);
  expect(first.hour).toBeGreaterThan(2500);
  expect(first.written - first.hour).toBeGreaterThan(2500);
  expect(await counters(body)).toMatchObject({ written: 0, read: first.written });
});

test("`cache_control` at the top of a request applies to the last block of the request", async () => {
  const { counters } = await cacheRig();
  const body = { system: LONG, cache_control: mark() };
  const first = await counters(body);
  expect(first).toMatchObject({ rest: 0, read: 0 });
  expect(await counters(body)).toMatchObject({ read: first.written, written: 0 });
});
