import { ModelFailure } from "@skein/core";
import { type Simulator, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAnthropicModel } from "../src/models/anthropic.ts";
import { createEventReader } from "../src/models/server-sent-events.ts";

const never = new AbortController().signal;

describe("a stream of events", () => {
  const stream = 'event: a\r\ndata: {"é":1}\r\n\r\n: a comment\nevent: b\ndata: one\ndata:two\n\nevent: cut\ndata: off';

  test.each([1, 2, 3, 7, 1000])("is the same in pieces of %d characters", (size) => {
    const read = createEventReader();
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
      stream.slice(i * size, i * size + size),
    );
    expect(pieces.flatMap(read)).toEqual([
      { event: "a", data: '{"é":1}' },
      { event: "b", data: "one\ntwo" },
    ]);
  });
});

describe("a file that code execution made", () => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await createSimulator();
  });
  afterAll(() => simulator.close());

  async function made(content: string): Promise<string> {
    const model = createAnthropicModel({ apiKey: "none", baseUrl: simulator.url });
    const steps = [{ code: { command: "plot", files: [{ name: "a.csv", content, mime: "text/csv" }] }, text: "Done" }];
    const body = {
      model: "claude-sonnet-5-5",
      max_tokens: 100,
      messages: [{ role: "user", content: script(steps, content) }],
      tools: [{ type: "code_execution_20250825", name: "code_execution" }],
    };
    const { content: blocks } = await model.call({ body, betas: ["code-execution-2025-08-25"] }, () => {}, never);
    return /"file_id":"([^"]+)"/.exec(JSON.stringify(blocks))?.[1] ?? "";
  }

  test("is fetched up to the limit, and refused beyond it", async () => {
    const model = createAnthropicModel({ apiKey: "none", baseUrl: simulator.url, fileLimit: 5 });
    const fetched = await model.download(await made("12345"), never);
    expect(Buffer.from(fetched.bytes).toString()).toBe("12345");
    const refused = model.download(await made("123456"), never);
    await expect(refused).rejects.toBeInstanceOf(ModelFailure);
    await expect(refused).rejects.toMatchObject({ failure: { code: "file_too_large" }, retryable: false });
  });
});
