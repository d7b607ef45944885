import { type Socket, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type TestServer, frames, session, testServer } from "./world.ts";

const EVENTS = 120;
const TITLE = "x".repeat(250);
const TAGS = Array.from({ length: 50 }, (_, at) => `${at}${"y".repeat(97)}`);

/** Opens a raw connection and requests a stream. */
function reader({ url, key }: TestServer, path: string): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write(
    `GET ${path}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  return socket;
}

test("the server disconnects readers that stop reading or read too slowly, and other readers get every event", async () => {
  const server = await testServer({ limits: { backlogBytes: 100_000, backlogMs: 3000 } });
  const { path } = await session(server.call);
  reader(server, path).pause();
  const drip = reader(server, path).pause();
  const timer = setInterval(() => drip.read(1), 50);
  onTestFinished(() => clearInterval(timer));
  reader(server, path).once("data", function (this: Socket) {
    this.resetAndDestroy();
  });
  // This reader ends its half of the connection after the request and never reads the answer.
  reader(server, path).pause().end();
  const healthy = frames(`${server.url}${path}/events`, {
    headers: { "x-api-key": server.key },
    isLast: ({ data }) => data.data["title"] === "the last",
  });
  const metrics = async (): Promise<string> =>
    (await fetch(`${server.url}/metrics`, { headers: { "x-api-key": server.key } })).text();
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`${name} (\\d+)`).exec(await metrics())?.[1]);
  await expect.poll(() => metric("skein_streams_open")).toBeGreaterThanOrEqual(3);
  let written = 0;
  // The test writes more data than the operating system buffers for a connection.
  const write = async (): Promise<number> => {
    for (let at = 0; at < EVENTS; at++) await server.call("PATCH", path, { title: TITLE, tags: TAGS });
    written += EVENTS;
    return metric("skein_streams_cut_total");
  };
  await expect.poll(write, { interval: 10 }).toBeGreaterThanOrEqual(2);
  await server.call("PATCH", path, { title: "the last" });
  const seen = await healthy;
  expect(seen.map(({ id }) => Number(id))).toEqual(Array.from({ length: written + 2 }, (_, at) => at + 1));
  await expect.poll(() => metric("skein_streams_open")).toBeLessThanOrEqual(1);
  // A disconnected reader can continue where it stopped.
  const rest = await frames(`${server.url}${path}/events?after=${written}`, {
    headers: { "x-api-key": server.key },
    isLast: ({ data }) => data.data["title"] === "the last",
  });
  expect(rest.map(({ id }) => Number(id))).toEqual([written + 1, written + 2]);
}, 120_000);
