import { describe, expect, test } from "vitest";
import Anthropic from "@anthropic-ai/sdk";
import { script } from "@skein/simulator";
import { ask, clientOf, HEADERS, play, rig, textOf } from "./client.ts";

describe("errors", () => {
  test.each([
    [400, "invalid_request_error", Anthropic.BadRequestError],
    [401, "authentication_error", Anthropic.AuthenticationError],
    [403, "permission_error", Anthropic.PermissionDeniedError],
    [404, "not_found_error", Anthropic.NotFoundError],
    [429, "rate_limit_error", Anthropic.RateLimitError],
    [500, "api_error", Anthropic.InternalServerError],
    [529, "overloaded_error", Anthropic.InternalServerError],
  ])("an error with the status %i arrives as %s", async (status, type, kind) => {
    const { client, simulator } = await rig();
    const body = play({ error: { status, retryAfter: 3 } });
    for (const call of [() => client.messages.create(body), () => client.messages.stream(body).finalMessage()]) {
      const error = (await call().catch((reason: unknown) => reason)) as InstanceType<typeof Anthropic.APIError>;
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ status, type });
      expect(error.headers?.get("retry-after")).toBe("3");
      expect(error.requestID).toBe(simulator.ledger.calls().at(-1)?.id);
    }
    expect(simulator.ledger.totals().outcomes).toMatchObject({ faulted: 2, answered: 0 });
  });

  test("an error with `times` happens only that many times, and a client that retries gets the answer", async () => {
    const { simulator } = await rig();
    const client = clientOf(simulator, 2);
    const body = play({ text: "at last", error: { status: 529, times: 2, headers: { "retry-after-ms": "1" } } });
    expect(textOf(await client.messages.create(body))).toBe("at last");
    expect(simulator.ledger.calls().map((call) => call.status)).toEqual([529, 529, 200]);
    expect(simulator.ledger.calls().map((call) => call.headers["x-stainless-retry-count"])).toEqual(["0", "1", "2"]);
  });

  test("scripts with different labels count their faults separately", async () => {
    const { client } = await rig();
    const steps = [{ text: "ok", error: { status: 500, times: 1 } }];
    await expect(client.messages.create(ask(script(steps, "a")))).rejects.toThrow();
    expect(textOf(await client.messages.create(ask(script(steps, "a"))))).toBe("ok");
    await expect(client.messages.create(ask(script(steps, "b")))).rejects.toThrow();
  });

  test("an error without `times` happens at every call", async () => {
    const { client } = await rig();
    const body = play({ text: "never", error: { status: 500, message: "broken" } });
    for (const _ of [1, 2, 3]) await expect(client.messages.create(body)).rejects.toThrow("broken");
  });
});

describe("streams that break", () => {
  test("a stream error comes after as many deltas as its step says, and only in a stream", async () => {
    const { client, simulator } = await rig();
    const body = play({ text: "one two three", chunk: 4, streamError: { afterChunks: 2 } });
    const seen: string[] = [];
    const stream = client.messages.stream(body);
    stream.on("text", (delta) => seen.push(delta));
    await expect(stream.finalMessage()).rejects.toMatchObject({ type: "overloaded_error" });
    expect(seen).toEqual(["one ", "two "]);
    expect(simulator.ledger.calls().at(-1)).toMatchObject({ outcome: "faulted", status: 200 });
    expect(textOf(await client.messages.create(body))).toBe("one two three");
  });

  test("a cut ends the connection after exactly this many bytes", async () => {
    const { simulator } = await rig();
    const body = JSON.stringify({ ...play({ text: "a long answer", cut: { afterBytes: 500 } }), stream: true });
    const response = await fetch(`${simulator.url}/v1/messages`, { method: "POST", headers: HEADERS, body });
    let bytes = 0;
    const read = async () => {
      for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
    };
    await expect(read()).rejects.toThrow("terminated");
    expect(bytes).toBe(500);
    expect(simulator.ledger.calls()[0]).toMatchObject({ outcome: "faulted" });
  });

  test("a cut after 0 bytes looks like a rejected connection, and the client retries", async () => {
    const { client, simulator } = await rig();
    const body = play({ text: "ok", cut: { afterBytes: 0 } });
    await expect(client.messages.create(body)).rejects.toBeInstanceOf(Anthropic.APIConnectionError);
    const once = ask(script([{ text: "ok", cut: { afterBytes: 0, times: 1 } }]));
    expect(textOf(await clientOf(simulator, 1).messages.create(once))).toBe("ok");
  });

  test("a cut also breaks an answer that is not streamed", async () => {
    const { client } = await rig();
    await expect(client.messages.create(play({ text: "a long answer", cut: { afterBytes: 100 } }))).rejects.toThrow();
  });
});

describe("silence", () => {
  test.each([
    ["from the start", true as const, 0],
    ["after two deltas", { afterChunks: 2 }, 2],
  ])(
    "silence %s lasts until the client disconnects, and the ledger records the call as aborted",
    async (_, hang, deltas) => {
      const { client, simulator } = await rig();
      const stream = client.messages.stream(play({ text: "one two three", chunk: 4, hang }));
      const seen: string[] = [];
      stream.on("text", (delta) => seen.push(delta));
      await expect.poll(() => simulator.ledger.calls().length).toBe(1);
      await expect.poll(() => seen.length).toBe(deltas);
      expect(simulator.ledger.calls()[0]).toMatchObject({ outcome: "open" });
      stream.abort();
      await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
      await expect.poll(() => simulator.ledger.calls()[0]?.outcome).toBe("aborted");
    },
  );

  test("a call that hangs ends at the client's time limit", async () => {
    const { client } = await rig();
    await expect(client.messages.create(play({ hang: true }), { timeout: 50 })).rejects.toBeInstanceOf(
      Anthropic.APIConnectionTimeoutError,
    );
  });

  test("a call that hangs ends when the simulator is closed", async () => {
    const { client, simulator } = await rig();
    const call = client.messages.create(play({ hang: true })).catch((error: unknown) => error);
    await expect.poll(() => simulator.ledger.calls().length).toBe(1);
    await simulator.close();
    expect(await call).toBeInstanceOf(Anthropic.APIConnectionError);
  });

  test("a call whose client disconnects during a slow stream is recorded as aborted", async () => {
    const { client, simulator } = await rig();
    const stream = client.messages.stream(play({ text: "slow ".repeat(100), chunk: 5, chunkDelayMs: 20 }));
    stream.once("text", () => stream.abort());
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
    await expect.poll(() => simulator.ledger.calls()[0]?.outcome).toBe("aborted");
    expect(simulator.ledger.totals().usage.output_tokens).toBe(0);
  });
});

describe("pace and pieces", () => {
  test("an answer can be delayed, with pauses between its deltas", async () => {
    const { client } = await rig();
    const started = performance.now();
    await client.messages.stream(play({ text: "abcd", chunk: 1, delayMs: 60, chunkDelayMs: 20 })).finalMessage();
    expect(performance.now() - started).toBeGreaterThan(60 + 3 * 20);
  });

  test.each([
    // The client joins the first two bytes, which come with the headers.
    ["oneByte", (sizes: readonly number[]) => sizes.slice(1).every((size) => size === 1)],
    ["splitUtf8", (sizes: readonly number[]) => sizes.length > 3],
  ])("%s sends the same answer in awkward pieces", async (key, areAwkward) => {
    const { client, simulator } = await rig();
    const body = play({ thinking: "hm", text: "ä€🧶", tools: [{ name: "t", input: { a: "ü" } }], [key]: true });
    const message = await client.messages.stream(body).finalMessage();
    expect(textOf(message)).toBe("ä€🧶");
    expect(message.content[2]).toMatchObject({ input: { a: "ü" } });
    expect(textOf(await client.messages.create(body))).toBe("ä€🧶");

    const pieces: Uint8Array[] = [];
    const request = { method: "POST", headers: HEADERS, body: JSON.stringify({ ...body, stream: true }) };
    const response = await fetch(`${simulator.url}/v1/messages`, request);
    for await (const chunk of response.body ?? []) pieces.push(chunk);
    expect(pieces.map((piece) => piece.length)).toSatisfy(areAwkward);
    const endsInside = pieces.some((piece) => ((piece.at(-1) ?? 0) & 0xc0) === 0xc0);
    expect(endsInside).toBe(true);
  });
});
