import { sseFrames } from "@skein/client";
import { expect, test } from "vitest";

function bytes(text: string, size: number): ReadableStream<Uint8Array> {
  const all = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < all.length; at += size) controller.enqueue(all.slice(at, at + size));
      controller.close();
    },
  });
}

const STREAM = [
  "retry: 1000\n\n",
  ": a comment\n\n",
  'event: a\nid: 1\ndata: {"text":"ü 🌍 \\u2028"}\n\n',
  "event: b\r\ndata: one\r\ndata: two\r\n\r\n",
  "data:without a space\n\n",
  "data: : a colon\n\n",
  "id: 7\rdata\r\r",
].join("");

test.each([1, 2, 3, 7, 1000])("the parser reads every frame from pieces of %i bytes", async (size) => {
  const seen = [];
  for await (const frame of sseFrames(bytes(STREAM, size))) seen.push(frame);
  expect(seen).toEqual([
    { event: "a", id: "1", data: '{"text":"ü 🌍 \\u2028"}' },
    { event: "b", id: undefined, data: "one\ntwo" },
    { event: "message", id: undefined, data: "without a space" },
    { event: "message", id: undefined, data: ": a colon" },
    { event: "message", id: "7", data: "" },
  ]);
});
