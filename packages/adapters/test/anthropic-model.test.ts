import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { sampleCall } from "@skein/core/testing";
import { createAnthropicModel } from "../src/models/anthropic/index.ts";

/** An answer of the Messages API with every kind of line break, a comment, a ping, and letters of several bytes. */
const STREAM = [
  'event: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",',
  '"model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}\r\n\r\n',
  ': a comment\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: an event without a name\n\n',
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,\ndata:"content_block":{"type":"text","text":""}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ü 🌍"}}\n\n',
  'event: content_block_stop\rdata: {"type":"content_block_stop","index":0}\r\r',
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
].join("");

/**
 * Starts a server of the Messages API that sends this text, `size` bytes at a time. Returns the address of the server.
 */
async function answering(text: string, size: number): Promise<string> {
  const bytes = Buffer.from(text);
  const server: Server = createServer((_, response) => {
    void (async () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let at = 0; at < bytes.length; at += size) {
        response.write(bytes.subarray(at, at + size));
        await turn();
      }
      response.end();
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const request = sampleCall({ model: "claude-sonnet-4-5" });

test.each([1, 2, 3, 7, 10_000])("a reply is the same when its bytes arrive %i at a time", async (size) => {
  const model = createAnthropicModel({ apiKey: "test", baseUrl: await answering(STREAM, size) });
  const said: string[] = [];
  const reply = await model.call(request, ({ type }) => void said.push(type), new AbortController().signal);
  expect(reply).toMatchObject({ content: [{ type: "text", text: "ü 🌍" }], stopReason: "end_turn" });
  expect(said).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("an error in the middle of a stream is a failure with the API's message", async () => {
  const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Too busy."}}\n\n';
  const model = createAnthropicModel({ apiKey: "test", baseUrl: await answering(error, 5) });
  const call = model.call(request, () => {}, new AbortController().signal);
  await expect(call).rejects.toMatchObject({ failure: { code: "overloaded_error", message: "Too busy." } });
});

test("if no server listens at an address, the error names the address and allows only two retries", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.close();
  const model = createAnthropicModel({ apiKey: "none", baseUrl });
  await expect(model.call(request, () => undefined, new AbortController().signal)).rejects.toMatchObject({
    failure: {
      code: "connection_error",
      message: `The model could not be reached at ${baseUrl} (ECONNREFUSED). Check the network, and ANTHROPIC_BASE_URL if it is set.`,
    },
    retryable: true,
    mostRetries: 2,
  });
});
