import { once } from "node:events";
import { type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import { sampleCall } from "@skein/core/testing";
import { expect, onTestFinished, test } from "vitest";
import { httpRequest } from "../src/models/http-request.ts";

/** A server on loopback with scripted answers. */
async function served(answer: (response: ServerResponse) => void): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => request.resume().once("end", () => answer(response)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

test("consecutive requests use one connection", async () => {
  let connections = 0;
  const { server, url } = await served((response) => response.end("yes"));
  server.on("connection", () => (connections += 1));
  for (let at = 0; at < 3; at++) {
    const answer = await httpRequest(url, { method: "POST", headers: {}, body: "{}" });
    expect(await answer.text()).toBe("yes");
  }
  expect(connections).toBe(1);
});

test("the connection of an answer that is not read to its end is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const { url } = await served((response) => {
    response.once("close", () => closed.resolve());
    response.writeHead(200, { "content-type": "text/html" }).write("<p>a page that goes on");
  });
  const model = createOpenAiCompatibleModel({ url, modelName: "m" });
  await expect(model.call(sampleCall({ model: "m" }), () => {}, new AbortController().signal)).rejects.toMatchObject({
    failure: { code: "no_model" },
  });
  await closed.promise;
});
