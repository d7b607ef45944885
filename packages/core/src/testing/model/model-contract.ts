import {
  type ContentBlock,
  type JsonObject,
  type ModelStreamEvent,
  type Usage,
  isToolUse,
  textOf,
} from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { type Model, type ModelCall, ModelFailure, type ModelReply, type Turn } from "../../ports/model.ts";
import { sampleCall } from "./sample-call.ts";

/** One step of a script, in the simulator's format. */
type Step = JsonObject;

/** A model, connected to a server that plays scripts and records its requests. */
export interface ModelUnderTest {
  /** The model's name in calls. */
  readonly name: string;
  /** The model, connected to that server. */
  model(options?: { readonly silenceMs?: number }): Model;
  /** The text of a prompt that makes the server play these steps. */
  prompt(steps: readonly Step[]): string;
  /** The requests that the server received, oldest first, with the usage that it counted. */
  asked(): readonly { readonly request: unknown; readonly usage: Usage }[];
}

/** The reasons why a provider cannot follow some of the rules. */
export interface ModelExceptions {
  readonly thinking?: string;
  readonly images?: string;
  readonly output?: string;
  /** Why the provider's stream cannot report an error in the middle. */
  readonly streamError?: string;
  /** Why the provider gets the text of a tool result inside another structure. */
  readonly results?: string;
  /** Why the arguments of tool calls cannot be invalid JSON. */
  readonly textArguments?: string;
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const TOOLS = ["read", "list"].map((name) => ({
  name,
  description: `Can ${name}.`,
  input_schema: { type: "object", properties: { path: { type: "string" } } },
}));
const EVERYTHING: Step = {
  thinking: "Let me think about the wörld 🌍.",
  text: "I will look — twice.",
  tools: [
    { name: "read", input: { path: "a.txt", deep: { list: [1, "two", null], emoji: "🧶" } } },
    { name: "list", input: {} },
  ],
  chunk: 5,
};
const SECRET = "sk-not-to-be-told";

/** Tests the rules of a model (`ports/model.ts`). An exception for an adapter or its provider needs a reason. */
export function describeModel(
  title: string,
  open: () => Promise<ModelUnderTest>,
  exceptions: ModelExceptions = {},
): void {
  describe(`${title}: model contract`, () => {
    async function world() {
      const under = await open();
      const call = (steps: readonly Step[], change: Partial<ModelCall> = {}): ModelCall =>
        sampleCall({
          model: under.name,
          system: "Be brief.",
          tools: TOOLS,
          thinkingTokens: exceptions.thinking === undefined ? 2048 : 0,
          maxTokens: 8000,
          turns: [{ role: "user", content: under.prompt(steps) }],
          ...change,
        });
      return { under, call };
    }

    async function ask(model: Model, call: ModelCall, signal = new AbortController().signal) {
      const events: ModelStreamEvent[] = [];
      const reply = await model.call(call, (event) => void events.push(event), signal);
      return { reply, events };
    }

    async function failing(model: Model, call: ModelCall): Promise<ModelFailure> {
      const error: unknown = await model
        .call(call, () => {}, new AbortController().signal)
        .then(
          () => undefined,
          (failure: unknown) => failure,
        );
      expect(error).toBeInstanceOf(ModelFailure);
      expect(JSON.stringify((error as ModelFailure).failure)).not.toContain(SECRET);
      return error as ModelFailure;
    }

    /** Checks that the model's answer repeats the last tool result. */
    function expectResult({ content }: ModelReply, before: string, result: string): void {
      const text = textOf([...content]);
      if (exceptions.results === undefined) expect(text).toBe(`${before}${result}`);
      else expect(text).toContain(result);
    }

    test("the joined deltas of a stream are the content of the reply, and the model makes one request", async () => {
      const { under, call } = await world();
      const { reply, events } = await ask(under.model(), call([EVERYTHING]));
      expect(joined(events)).toEqual(reply.content.map(said));
      expect(textOf([...reply.content])).toBe(EVERYTHING["text"]);
      expect(reply.stopReason).toBe("tool_use");
      expect(reply.content.filter(isToolUse).map(({ name, input }) => ({ name, input }))).toEqual(EVERYTHING["tools"]);
      if (exceptions.thinking === undefined)
        expect(reply.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use", "tool_use"]);
      expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["message_start", "message_stop"]));
      expect(under.asked()).toHaveLength(1);
    });

    test("the data in `carry` is sent back with the results of the calls, even after the answer was stored as JSON", async () => {
      const { under, call } = await world();
      const first = call([EVERYTHING, { text: "It says: $LAST" }]);
      const { reply } = await ask(under.model(), first);
      const turns = [...first.turns, ...answered(JSON.parse(JSON.stringify(reply.content)) as ContentBlock[])];
      const second = await ask(under.model(), { ...first, turns });
      expectResult(second.reply, "It says: ", "second");
      expect(second.reply.stopReason).toBe("end_turn");
      expect(under.model().prepare({ ...first, turns }).leftOut).toEqual([]);
    });

    test("two instances of a model prepare the same body for the same call", async () => {
      const { under, call } = await world();
      const first = call([EVERYTHING]);
      const body = JSON.stringify(under.model().prepare(first));
      expect(JSON.stringify(under.model().prepare(structuredClone(first)))).toBe(body);
    });

    test("the token counts of a call equal the provider's, and cached tokens are not counted again as input", async () => {
      const { under, call } = await world();
      const long = call([{ text: "Once." }], { system: "z".repeat(8000) });
      await ask(under.model(), long);
      const { reply } = await ask(under.model(), long);
      const counted = under.asked().at(-1)?.usage;
      expect(counted?.cache_read_input_tokens).toBeGreaterThan(1000);
      for (const key of [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
      ] as const)
        expect(reply.usage[key] ?? 0).toBe(counted?.[key] ?? 0);
      expect(reply.estimated).toBeUndefined();
    });

    test("a model call gets its answer and the right count of cache-creation tokens with each setting of the prompt cache", async () => {
      const { under, call } = await world();
      for (const cache of ["off", "short", "long"] as const) {
        const { reply } = await ask(under.model(), call([{ text: cache }], { cache, system: cache.repeat(2000) }));
        const counted = under.asked().at(-1)?.usage;
        expect(textOf([...reply.content])).toBe(cache);
        expect(reply.usage.cache_creation_input_tokens ?? 0).toBe(counted?.cache_creation_input_tokens ?? 0);
      }
    });

    test.each([
      ["a stream that is cut", { cut: { afterBytes: 600 } }],
      ["a stream without its last event", { endEarly: true }],
      ["an empty body", { instead: { body: "empty" } }],
      ["a web page", { instead: { body: "html" } }],
      ...(exceptions.streamError === undefined
        ? [["an error in the middle", { streamError: { afterChunks: 2, type: "overloaded_error" } }] as const]
        : []),
    ] as const)("after %s the model call fails, and the request is not sent again", async (_, fault) => {
      const { under, call } = await world();
      await failing(under.model(), call([{ ...EVERYTHING, ...fault }]));
      expect(under.asked()).toHaveLength(1);
    });

    test("if a stream is cut, the failure says that the answer had begun and that the token counts are incomplete", async () => {
      const { under, call } = await world();
      const { begun } = await failing(
        under.model(),
        call([{ text: "x".repeat(4000), chunk: 10, cut: { afterBytes: 6000 } }]),
      );
      expect(begun).toMatchObject({ whole: false });
    });

    test.each([
      [429, { retryAfter: 2 }, true, 2000],
      [429, {}, true, undefined],
      [503, {}, true, undefined],
      [401, {}, false, undefined],
      [400, {}, false, undefined],
    ] as const)(
      "a request that is rejected with %i %o is retryable: %s, after %s ms",
      async (status, more, retryable, after) => {
        const { under, call } = await world();
        const failure = await failing(under.model(), call([{ error: { status, type: "some_error", ...more } }]));
        expect(failure).toMatchObject({ retryable, failure: { status } });
        expect(failure.retryAfterMs).toBe(after);
        expect(under.asked()).toHaveLength(1);
      },
    );

    test("a context that is too long has the same error code with every provider", async () => {
      const { under, call } = await world();
      const message =
        "This model's maximum context length is 10 tokens; the prompt is too long for the context window.";
      const error = { status: 400, type: "invalid_request_error", code: "context_length_exceeded", message };
      const { failure, retryable } = await failing(under.model(), call([{ error }]));
      expect({ code: failure.code, retryable }).toEqual({ code: "context_window_exceeded", retryable: false });
    });

    test("the signal ends a request immediately, before or during the answer", async () => {
      for (const hang of [true, { afterChunks: 2 }]) {
        const { under, call } = await world();
        const stop = new AbortController();
        const began = Promise.withResolvers<void>();
        const asking = under.model().call(call([{ ...EVERYTHING, hang }]), () => began.resolve(), stop.signal);
        const outcome = asking.then(
          () => "answered",
          (error: unknown) => (error instanceof ModelFailure ? "failed" : "aborted"),
        );
        if (hang === true) await expect.poll(() => under.asked().length).toBe(1);
        else await began.promise;
        stop.abort();
        expect(await outcome).toBe("aborted");
      }
    });

    test("a request ends with the error code `silence` if the server sends nothing for `silenceMs`", async () => {
      const { under, call } = await world();
      const { failure } = await failing(under.model({ silenceMs: 100 }), call([{ ...EVERYTHING, hang: true }]));
      expect(failure.code).toBe("silence");
    });

    test.skipIf(exceptions.textArguments)(
      "arguments that are not JSON are kept as text, for the tool to reject",
      async () => {
        const { under, call } = await world();
        const tools = [{ name: "read", input: { $raw: '{"path": "a' } }];
        const { reply } = await ask(under.model(), call([{ tools }]));
        expect(reply.content.find(isToolUse)?.input).toEqual({ unparsable: '{"path": "a' });
      },
    );

    test("the ids of tool calls have a form that every provider accepts", async () => {
      const { under, call } = await world();
      const first = call([{ tools: [{ name: "read", input: {} }] }, { text: "Done." }]);
      const { reply } = await ask(under.model(), first);
      for (const { id } of reply.content.filter(isToolUse)) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    });

    test("blocks that another model wrote are sent if this model can read them; unreadable blocks are left out and listed", async () => {
      const { under, call } = await world();
      const prompt = call([{ text: "One." }, { text: "Two." }, { text: "Three: $LAST" }]).turns;
      const turns: readonly Turn[] = [...prompt, ...FOREIGN];
      const asked = call([], { turns });
      const { reply } = await ask(under.model(), asked);
      expectResult(reply, "Three: ", "found");
      const { leftOut, body } = under.model().prepare(asked);
      expect(leftOut.map(({ block }) => block)).toContain("thinking");
      expect(JSON.stringify(body)).not.toContain("foreign secret");
      expect(JSON.stringify(body)).not.toContain("foreign thought");
    });

    test("images of prompts and results are sent, or replaced by a sentence", async () => {
      const { under, call } = await world();
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
      const steps = [{ tools: [{ name: "read", input: {} }] }, { text: "Seen." }];
      const first = call(steps, {
        turns: [{ role: "user", content: [image, { type: "text", text: under.prompt(steps) }] }],
      });
      const { reply } = await ask(under.model(), first);
      const [asked] = reply.content.filter(isToolUse);
      const result = {
        type: "tool_result",
        tool_use_id: asked?.id ?? "",
        content: [{ type: "text", text: "Look:" }, image],
      };
      const turns: readonly Turn[] = [
        ...first.turns,
        { role: "assistant", content: [...reply.content] },
        { role: "user", content: [result] },
      ];
      expect(textOf([...(await ask(under.model(), { ...first, turns })).reply.content])).toBe("Seen.");
      const { body, leftOut } = under.model().prepare({ ...first, turns });
      const shown = JSON.stringify(body).split(PIXEL).length - 1;
      expect([shown, leftOut.length]).toEqual(exceptions.images === undefined ? [2, 0] : [0, 2]);
    });

    test("a request that forbids tools still contains the tools and the earlier calls", async () => {
      const { under, call } = await world();
      const first = call([EVERYTHING, { text: "In short." }]);
      const { reply } = await ask(under.model(), first);
      const turns = [...first.turns, ...answered([...reply.content])];
      const closing = await ask(under.model(), { ...first, turns, toolChoice: "none" });
      expect(textOf([...closing.reply.content])).toBe("In short.");
      const asked = JSON.stringify(under.asked().at(-1)?.request);
      expect(asked).toContain("Can read.");
      // Every API has this word in a request that forbids tools.
      expect(asked).toMatch(/"none"/i);
    });
  });
}

/** Returns the turn with the model's answer, and the turn with the results of the answer's tool calls. */
function answered(content: readonly ContentBlock[]): readonly Turn[] {
  const results = content.filter(isToolUse).map(({ id }, at) => ({
    type: "tool_result",
    tool_use_id: id,
    content: at === 0 ? "first" : "second",
    ...(at === 0 && { is_error: true }),
  }));
  return [
    { role: "assistant", content: [...content] },
    { role: "user", content: results },
  ];
}

/** Turns of another model: thinking that only the other model can read, and calls with ids of that model. */
const FOREIGN: readonly Turn[] = [
  {
    role: "assistant",
    content: [
      {
        type: "thinking",
        thinking: "foreign thought",
        carry: { by: "elsewhere/one", data: { sealed: "foreign secret" } },
      },
      { type: "text", text: "I search." },
      {
        type: "tool_use",
        id: "call_foreign",
        name: "read",
        input: { path: "b" },
        carry: { by: "elsewhere/one", data: null },
      },
    ],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "call_foreign", content: "nothing" }] },
  {
    role: "assistant",
    content: [
      { type: "tool_use", id: "call_2", name: "read", input: {}, carry: { by: "elsewhere/one", data: { id: "x" } } },
    ],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "call_2", content: "found" }] },
];

/** Joins the deltas of every block. */
function joined(events: readonly ModelStreamEvent[]): readonly string[] {
  const blocks = new Map<number, string>();
  const calls = new Set<number>();
  for (const event of events) {
    const index = event["index"] as number;
    if (event.type === "content_block_start") {
      blocks.set(index, "");
      if (isToolUse(event["content_block"] as ContentBlock)) calls.add(index);
    }
    if (event.type !== "content_block_delta") continue;
    const delta = event["delta"] as Readonly<Record<string, string | undefined>>;
    const piece = delta["text"] ?? delta["thinking"] ?? delta["partial_json"] ?? "";
    blocks.set(index, `${blocks.get(index)}${piece}`);
  }
  return [...blocks].map(([index, text]) => (calls.has(index) ? JSON.stringify(JSON.parse(text || "{}")) : text));
}

function said(block: ContentBlock): string {
  if (isToolUse(block)) return JSON.stringify(block.input);
  return ((block["text"] ?? block["thinking"]) as string | undefined) ?? "";
}
