import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { FLOODS } from "../../bench/fair/floods.ts";

test("runs of a flood are counted only if the server accepts their prompts", async () => {
  const stop = new AbortController();
  let prompts = 0;
  const server = createServer((request, response) => {
    if (request.url?.endsWith("/messages")) {
      prompts += 1;
      if (prompts === 4) stop.abort();
      response.writeHead(prompts % 2 === 0 ? 202 : 429).end("{}");
    } else response.writeHead(201).end('{"id":"one"}');
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  let taken = 0;
  await FLOODS.runs(
    { url: `http://127.0.0.1:${port}`, flood: "one", calm: "two", peakMb: () => 0, close: async () => {} },
    { signal: stop.signal, took: () => void (taken += 1) },
  );
  expect([prompts, taken]).toEqual([4, 2]);
});
