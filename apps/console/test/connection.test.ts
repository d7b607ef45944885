import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { onConnection, pauseUntilBack, watchedFetch } from "../src/api/connection.ts";

/** A server at a port that stays the same. */
async function startServer(port = 0, status = 200, type = "application/json") {
  const server = createServer((_, response) => response.writeHead(status, { "content-type": type }).end("{}"));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await once(server.close(), "close");
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, close };
}

function clockFrom(now: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now });
  onTestFinished(() => void vi.useRealTimers());
}

test("a pause ends when the server answers again after a loss, and lasts if the server was away for a moment only", async () => {
  clockFrom(1_000_000);
  const changes = vi.fn();
  onTestFinished(onConnection(changes));
  const { port, close } = await startServer();
  const ask = (): Promise<unknown> => watchedFetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
  await ask();
  await close();
  await ask();
  await ask();
  expect(changes).toHaveBeenCalledTimes(1);
  const ended = vi.fn();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const short = pauseUntilBack(1_000_000, stop.signal).then(ended);
  const again = await startServer(port);
  await ask();
  expect(changes).toHaveBeenCalledTimes(2);
  expect(ended).not.toHaveBeenCalled();
  await again.close();
  await ask();
  vi.setSystemTime(1_005_000);
  await startServer(port);
  await ask();
  await short;
  expect(changes).toHaveBeenCalledTimes(4);
});

test("the page of a proxy is no answer of the server, but an error of the server is one", async () => {
  const changes = vi.fn();
  onTestFinished(onConnection(changes));
  const ask = async (status: number, type: string): Promise<unknown> =>
    await watchedFetch(`http://127.0.0.1:${(await startServer(0, status, type)).port}/health`);
  await ask(503, "application/json");
  expect(changes).not.toHaveBeenCalled();
  await ask(502, "text/html");
  expect(changes).toHaveBeenCalledTimes(1);
  await ask(503, "application/json");
  expect(changes).toHaveBeenCalledTimes(2);
});
