import {
  createFormatter,
  DONE,
  type DraftPiece,
  type Envelope,
  ENVELOPE_TYPES,
  type Event,
  type Format,
  FRAME_BYTES,
} from "@skein/protocol";
import { type AgentOptions, createAgent, defineTool, openStore } from "skein";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "../../../../core/test/loop/simulated.ts";
import { collected, folder } from "../../../../core/test/loop/world.ts";

const picture = "iVBORw0KGgo=";
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  run: ({ at }) => [
    { type: "text", text: `I see ${at} ]]> & <more>` },
    { type: "image", source: { type: "base64", media_type: "image/png", data: picture } },
  ],
});
const ask = defineTool({
  name: "ask",
  description: "Asks the browser.",
  input: z.object({}),
  executor: "frontend",
});

const everything = [
  {
    thinking: "Let me see.",
    code: { command: "plot", stdout: "ok", files: [{ name: "c.png", content: "PNG" }] },
    search: { query: "sea", results: [{ title: "Sea", url: "https://sea.example", cite: "wet" }] },
    text: "The sea is wet ]]> 🌊 ",
    tools: [{ name: "look", input: { at: "日本" }, id: "toolu_1" }],
  },
  { text: "Done." },
];

const options = {
  tools: [look, ask],
  thinking_tokens: 1024,
  server_tools: [
    { type: "code_execution_20250825", name: "code_execution" },
    { type: "web_search_20250305", name: "web_search" },
  ],
} satisfies AgentOptions;

/**
 * Joins the frames like a client. Pieces with the same agent, type and id become one envelope, and a reset removes all
 * pieces of its message.
 */
function reassembled(frames: readonly string[]): Envelope[] {
  const whole = new Map<string, Envelope>();
  for (const frame of frames) {
    const envelope = JSON.parse(frame) as Envelope;
    if (envelope.reset) for (const [key, { message }] of whole) if (message === envelope.message) whole.delete(key);
    const key = JSON.stringify([envelope.agent, envelope.type, envelope.id]);
    const before = whole.get(key);
    expect(before?.final ?? false, `${key} continues after its end`).toBe(false);
    whole.set(key, { ...envelope, delta: (before?.delta ?? "") + envelope.delta });
  }
  return [...whole.values()];
}

const types = (envelopes: readonly Envelope[]) => envelopes.map(({ type }) => type);

test("json without stream_meta_history_and_tool_results sends only what the model answered, and ends with [DONE]", async () => {
  const { agent } = await simulatedAgent(options);
  const frames = await collected(agent.text(scripted("All", everything)));
  expect(frames.at(-1)).toBe(DONE);
  const envelopes = reassembled(frames.slice(0, -1));
  expect(types(envelopes).sort()).toEqual([
    "citation",
    "server_tool_call",
    "server_tool_call",
    "server_tool_result",
    "server_tool_result",
    "text",
    "text",
    "thinking",
    "tool_call",
  ]);
  expect(envelopes.filter(({ type }) => type === "text").map(({ delta }) => delta)).toEqual([
    "The sea is wet ]]> 🌊 ",
    "Done.",
  ]);
  expect(envelopes.find(({ type }) => type === "tool_call")).toMatchObject({
    id: "toolu_1",
    name: "look",
    delta: '{"at":"日本"}',
    final: true,
  });
});

test("an unknown format is rejected before any output", async () => {
  const { agent, simulator } = await simulatedAgent();
  const frames = agent.text("Hello.", { format: "yaml" as Format });
  const reading = frames[Symbol.asyncIterator]().next();
  await expect(reading).rejects.toMatchObject({
    code: "invalid",
    message: '"yaml" is not a format. Expected json, xml or raw.',
  });
  expect(simulator.ledger.calls()).toEqual([]);
});

test("json with stream_meta_history_and_tool_results also sends history, tool results, files and the end", async () => {
  const { agent } = await simulatedAgent({ ...options, stream_meta_history_and_tool_results: true, files: folder() });
  const { sessionId } = await agent.run(scripted("Before", [{ text: "Said before." }]));
  const frames = await collected(agent.text(scripted("All", everything), { sessionId }));
  const envelopes = reassembled(frames.slice(0, -1));
  const of = (type: Envelope["type"]) => envelopes.filter((envelope) => envelope.type === type);
  expect(types(envelopes)[0]).toBe("meta_init");
  expect(JSON.parse(of("meta_init")[0]?.delta ?? "")).toMatchObject({
    agent_uuid: sessionId,
    format: "json",
    user_query: expect.stringContaining("All"),
    message_history: [{ role: "user" }, { role: "assistant", content: [{ type: "text", text: "Said before." }] }],
  });
  expect(of("tool_result")[0]).toMatchObject({ id: "toolu_1", name: "look", delta: "I see 日本 ]]> & <more>" });
  expect(of("tool_result_image")[0]).toMatchObject({ delta: picture, media_type: "image/png" });
  expect(JSON.parse(of("meta_files")[0]?.delta ?? "")).toMatchObject({ files: [{ filename: "c.png", step: 1 }] });
  expect(JSON.parse(of("meta_final")[0]?.delta ?? "")).toMatchObject({ stop_reason: "end_turn", total_steps: 2 });
  expect(types(envelopes).slice(-2)).toEqual(["meta_files", "meta_final"]);
});

test("json sends all 13 kinds of frames, each with at most 2,048 bytes", async () => {
  const simulator = await createSimulator();
  const store = await openStore("memory:");
  onTestFinished(() => simulator.close());
  const agent = createAgent({
    apiKey: "x",
    baseUrl: simulator.url,
    store,
    ...options,
    stream_meta_history_and_tool_results: true,
    files: folder(),
    max_tokens: 100_000,
  });
  const giant = 'ü🌊\n"\\\u0007 日本 '.repeat(2000);
  const frames = [
    ...(await collected(agent.text(scripted("Giant", [{ ...everything[0], text: giant }, { text: giant }])))),
    ...(await collected(agent.text(scripted("Ask", [{ tools: [{ name: "ask" }] }])))),
    ...(await collected(agent.text(scripted("Fail", [{ error: { status: 400 } }])))),
  ].filter((frame) => frame !== DONE);
  await agent.close();
  await store.close();
  for (const frame of frames) {
    expect(new TextEncoder().encode(frame).byteLength).toBeLessThanOrEqual(FRAME_BYTES);
    expect(frame.isWellFormed()).toBe(true);
    const { agent: who, final, delta } = JSON.parse(frame) as Envelope;
    expect([typeof who, typeof final, typeof delta]).toEqual(["string", "boolean", "string"]);
  }
  const envelopes = reassembled(frames);
  expect([...new Set(types(envelopes))].sort()).toEqual([...ENVELOPE_TYPES].sort());
  expect(envelopes.filter(({ type }) => type === "text").map(({ delta }) => delta)).toEqual([giant, giant]);
  expect(JSON.parse(envelopes.find(({ type }) => type === "awaiting_frontend_tools")?.delta ?? "")).toMatchObject([
    { name: "ask", kind: "frontend_tool" },
  ]);
});

test.each(["json", "xml", "raw"] as const)(
  "%s: if a model call is repeated after half an answer, readers are told to discard this half",
  async (format) => {
    const { agent } = await simulatedAgent({ base_delay: 0.01 });
    const steps = [{ cut: { afterBytes: 1500, times: 1 }, text: "Once upon a time ".repeat(40) }];
    const items = await collected(agent.text(scripted(`Cut ${format}`, steps), { format }));
    const text = items.join("");
    if (format === "json") {
      const resets = items.filter((item) => item !== DONE && (JSON.parse(item) as Envelope).reset);
      expect(resets).toHaveLength(1);
      const kept = reassembled(items.slice(0, -1)).filter(({ type }) => type === "text");
      expect(kept.map(({ delta }) => delta)).toEqual([steps[0]?.text]);
    } else if (format === "xml") {
      expect(text.match(/<content-block-error [^>]*reset="true"/g)).toHaveLength(1);
      expect(text.match(/<content-block-text>/g)).toHaveLength(2);
    } else {
      const events = items.map((item) => JSON.parse(item) as { type: string; reset?: boolean });
      const reset = events.findIndex((event) => event.type === "error" && event.reset);
      expect(reset).toBeGreaterThan(0);
      expect(events.slice(reset + 1)[0]?.type).toBe("message_start");
      expect(events.at(-1)?.type).toBe("message_stop");
    }
  },
);

test("the format xml is XML that a parser accepts, even if the answer contains ]]>", async () => {
  const { agent } = await simulatedAgent({ ...options, formatter: "xml", stream_meta_history_and_tool_results: true });
  const text = (await collected(agent.text(scripted("All", everything)))).join("");
  expect(elements(text).filter((name) => name.startsWith("content-block") || name === "citations")).toEqual(
    expect.arrayContaining([
      "content-block-thinking",
      "content-block-server_tool_call",
      "content-block-server_tool_result",
      "citations",
      "content-block-text",
      "content-block-tool_call",
      "content-block-tool_result",
    ]),
  );
  expect(text).toContain(
    '<content-block-tool_call id="toolu_1" name="look" arguments="{&quot;at&quot;:&quot;日本&quot;}">',
  );
  expect(contentOf(text, "content-block-text")).toEqual(["The sea is wet ]]> 🌊 ", "Done."]);
  expect(contentOf(text, "content-block-thinking")).toEqual(["Let me see."]);
});

test("raw sends events of the model's API, and gives the same text and thinking from stored events", async () => {
  const { agent } = await simulatedAgent(options);
  const prompt = scripted("Raw", [{ thinking: "Hm", text: "Hello ".repeat(30), tools: [] }]);
  const live = (await collected(agent.text(prompt, { format: "raw" }))).map((item) => JSON.parse(item) as object);
  expect(live[0]).toMatchObject({ type: "message_start" });
  expect(live.at(-1)).toEqual({ type: "message_stop" });
  const sessions = await agent.sessions();
  const [session] = (await sessions.list()).items;
  const events = await sessions.events(session?.id ?? "");
  const formatter = createFormatter("raw");
  const replayed = events.flatMap((event) => formatter.add(event)).map((item) => JSON.parse(item) as object);
  expect(spoken(replayed)).toEqual(spoken(live));
  expect(spoken(live).text).toBe("Hello ".repeat(30));
});

test("a reader gets the same text even if it missed drafts of the answer", async () => {
  const { agent } = await simulatedAgent(options);
  const source: (Event | DraftPiece)[] = [];
  const items = agent.text(scripted("Once", everything));
  const frames = reassembled((await collected(items)).slice(0, -1));
  const sessions = await agent.sessions();
  const [session] = (await sessions.list()).items;
  source.push(...(await sessions.events(session?.id ?? "")));
  const formatter = createFormatter("json");
  const replayed = reassembled(source.flatMap((item) => formatter.add(item)));
  const byId = (list: readonly Envelope[]) =>
    Object.fromEntries(list.map(({ type, id, delta }) => [`${type} ${id}`, delta]));
  expect(byId(replayed)).toEqual(byId(frames));
});

/** Draft pieces of one block. The last piece ends the block if `isWhole`. */
function drafts(index: number, type: "text" | "thinking", text: string, isWhole: boolean): readonly DraftPiece[] {
  const events: DraftPiece["event"][] = [
    { type: "content_block_start", index, content_block: { type, [type]: "" } },
    { type: "content_block_delta", index, delta: { type: `${type}_delta`, [type]: text } },
    ...(isWhole ? [{ type: "content_block_stop" as const, index }] : []),
  ];
  return events.map((event, offset) => ({
    session_id: "s",
    run_id: "r",
    step: 1,
    attempt: 1,
    message_id: "m",
    offset: index * 3 + offset,
    event,
  }));
}

const thought = drafts(0, "thinking", "Hm.", true);

test.each<[string, readonly DraftPiece[]]>([
  ["no draft", []],
  ["the thinking", thought],
  ["a part of the thinking", drafts(0, "thinking", "H", false)],
  ["an empty text", [...thought, ...drafts(1, "text", "\n", true)]],
  ["a part of the first text", [...thought, ...drafts(1, "text", "Once ", false)]],
  ["the first text", [...thought, ...drafts(1, "text", "Once upon a time", true)]],
  ["the first text without its end", [...thought, ...drafts(1, "text", "Once upon a time", false)]],
  [
    "a part of the second text",
    [...drafts(0, "text", "Once upon a time", true), ...drafts(1, "text", " there", false)],
  ],
  ["both texts", [...drafts(0, "text", "Once upon a time", true), ...drafts(1, "text", " there was", false)]],
])("json and xml have the whole text of an interrupted answer, even if a reader got only %s", (_, pieces) => {
  const content = ["Once upon a time", " there was"].map((text) => ({ type: "text", text }));
  const usage = { input_tokens: 1, output_tokens: 1 };
  const call = { run_id: "r", step: 1, model: "m", usage, cost: null, reason: "cancelled" as const };
  const abandoned: Event = {
    id: "e",
    session_id: "s",
    sequence: 1,
    created_at: "2026-11-19T12:00:00Z",
    event_type: "step.abandoned",
    data: { ...call, message_id: "m", content },
  };
  const [json, xml] = [createFormatter("json"), createFormatter("xml")];
  const envelopes = reassembled([...pieces, abandoned].flatMap((item) => json.add(item)));
  expect(envelopes.every(({ final }) => final)).toBe(true);
  const texts = envelopes.filter(({ type }) => type === "text").map(({ delta }) => delta);
  expect(texts.join("").trim()).toBe("Once upon a time there was");
  const document = [...[...pieces, abandoned].flatMap((item) => xml.add(item)), ...xml.end()].join("");
  elements(document);
  expect(contentOf(document, "content-block-text").join("").trim()).toBe("Once upon a time there was");
});

function spoken(events: readonly object[]): { text: string; thinking: string } {
  const all = { text: "", thinking: "" };
  for (const { delta } of events as { delta?: Record<string, string> }[])
    for (const kind of ["text", "thinking"] as const) if (delta?.type === `${kind}_delta`) all[kind] += delta[kind];
  return all;
}

/** Returns the names of all elements, and checks that elements are closed in order. Ignores CDATA. */
function elements(xml: string): string[] {
  const names: string[] = [];
  const open: string[] = [];
  const markup = xml.replaceAll(/<!\[CDATA\[[^]*?\]\]>/g, "");
  for (const [, slash, name = ""] of markup.matchAll(/<(\/?)([\w-]+)(?:\s[^<>]*)?>/g)) {
    if (slash === "/") expect(open.pop()).toBe(name);
    else {
      names.push(name);
      open.push(name);
    }
  }
  expect(open).toEqual([]);
  expect(markup.replaceAll(/<[^<>]*>/g, "").trim()).toBe("");
  return names;
}

function contentOf(xml: string, element: string): string[] {
  const found = xml.matchAll(new RegExp(`<${element}[^>]*>((?:<!\\[CDATA\\[[^]*?\\]\\]>)*)</${element}>`, "g"));
  return [...found].map(([, inner = ""]) =>
    [...inner.matchAll(/<!\[CDATA\[([^]*?)\]\]>/g)].map(([, text]) => text).join(""),
  );
}
