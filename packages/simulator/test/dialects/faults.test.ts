import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Step } from "@skein/simulator";
import { play, rig, type Rig } from "./clients.ts";

/**
 * Makes one streamed call in each dialect. Adds the texts that arrive to `seen`, and throws the error of the client.
 */
const STREAMS: Readonly<Record<string, (rig: Rig, prompt: string, seen: string[]) => Promise<void>>> = {
  async chat({ openai }, prompt, seen) {
    const stream = await openai.chat.completions.create({
      model: "gpt-6",
      messages: [{ role: "user", content: prompt }],
      stream: true,
    });
    for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? "");
  },
  async responses({ openai }, prompt, seen) {
    const stream = await openai.responses.create({ model: "gpt-6", input: prompt, stream: true });
    for await (const event of stream) if (event.type === "response.output_text.delta") seen.push(event.delta);
  },
  async gemini({ google }, prompt, seen) {
    const stream = await google.models.generateContentStream({ model: "gemini-3-pro", contents: prompt });
    for await (const { text } of stream) seen.push(text ?? "");
  },
};

async function streamed(dialect: string, step: Step) {
  const all = await rig();
  const seen: string[] = [];
  const error: unknown = await STREAMS[dialect]?.(all, play(step), seen).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const text = seen.join("");
  await expect.poll(() => all.simulator.ledger.calls().at(-1)?.outcome).not.toBe("open");
  return { text, error, call: all.simulator.ledger.calls().at(-1) };
}

describe.each(Object.keys(STREAMS))("%s", (dialect) => {
  test("after an error event in the middle of a stream, the client has the earlier text and throws", async () => {
    const { text, error } = await streamed(dialect, {
      text: "one two three",
      chunk: 4,
      streamError: { afterChunks: 2 },
    });
    expect(text).toBe("one two ");
    expect(error).toBeInstanceOf(Error);
  });

  test("a stream that ends early looks complete to the client, but not in the ledger", async () => {
    const { text, error, call } = await streamed(dialect, {
      text: "one two three",
      chunk: 4,
      endEarly: { afterChunks: 2 },
    });
    expect([text, error, call?.outcome]).toEqual(["one two ", undefined, "faulted"]);
  });

  test("a client throws an error when its stream is cut", async () => {
    const { error, call } = await streamed(dialect, { text: "a long answer", chunk: 1, cut: { afterBytes: 900 } });
    expect(error).toBeInstanceOf(Error);
    expect(call?.outcome).toBe("faulted");
  });

  test("a client that gets a web page or an empty body instead of an answer finds no text", async () => {
    for (const body of ["html", "empty"] as const) {
      const { text, call } = await streamed(dialect, { text: "never", instead: { body } });
      expect([text, call?.status, call?.outcome]).toEqual(["", 200, "faulted"]);
    }
  });
});

test("errors have OpenAI's shape, type and code, and retry-after only if the script sets it", async () => {
  const { openai } = await rig();
  const failed = async (error: NonNullable<Step["error"]>) => {
    try {
      await openai.responses.create({ model: "gpt-6", input: play({ error }) });
    } catch (reason) {
      return reason as InstanceType<typeof OpenAI.APIError>;
    }
    throw new Error("The call should have failed.");
  };
  const busy = await failed({ status: 429, retryAfter: 3 });
  expect(busy).toBeInstanceOf(OpenAI.RateLimitError);
  expect([busy.code, busy.headers?.get("retry-after")]).toEqual(["rate_limit_exceeded", "3"]);
  expect((await failed({ status: 429 })).headers?.get("retry-after")).toBeNull();
  const quota = await failed({ status: 429, type: "insufficient_quota", message: "You exceeded your current quota" });
  expect(quota).toMatchObject({ type: "insufficient_quota", code: "insufficient_quota" });
  expect(await failed({ status: 401 })).toMatchObject({ status: 401, code: "invalid_api_key" });
  expect(await failed({ status: 529 })).toMatchObject({ status: 529, type: "service_unavailable_error" });
});

test("OpenAI's routes answer 401 without a key, and list the models with a key", async () => {
  const { openai, simulator } = await rig();
  for (const path of ["chat/completions", "responses"]) {
    const response = await fetch(`${simulator.url}/v1/${path}`, { method: "POST", body: "{}" });
    expect([response.status, await response.json()]).toMatchObject([401, { error: { code: "invalid_api_key" } }]);
  }
  const ids: string[] = [];
  for await (const model of openai.models.list()) ids.push(model.id);
  expect(ids).toContain("gpt-6");
  await expect(openai.models.retrieve("none")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
});
