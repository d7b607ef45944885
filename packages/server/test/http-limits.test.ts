import { type Socket, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_LIMITS, createMeter } from "../src/http/limits.ts";
import { type TestServer, session, testServer } from "./world.ts";

/** Opens a raw connection, and collects everything that the server sends on it. */
function raw({ url }: Pick<TestServer, "url">, text = ""): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(text);
  const answer = new Promise<string>((resolve) => {
    let all = "";
    socket.on("data", (chunk) => (all += String(chunk)));
    socket.on("error", () => {});
    socket.on("close", () => resolve(all));
  });
  return { socket, answer };
}

const head = (key: string, ...lines: readonly string[]): string =>
  [`Host: localhost`, `X-API-Key: ${key}`, "Connection: close", ...lines, "", ""].join("\r\n");

async function expectAlive({ url }: TestServer): Promise<void> {
  expect((await fetch(`${url}/health`)).status).toBe(200);
}

test("headers or a body that do not arrive in time get 408, and the connection is closed", async () => {
  const server = await testServer({ limits: { requestMs: 500 } });
  const { key } = server;
  const waiting = [
    raw(server, "GET /health HTTP/1.1\r\nHost: loc"),
    raw(
      server,
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Content-Length: 100")}{"na`,
    ),
    raw(
      server,
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Transfer-Encoding: chunked")}4\r\n{"na\r\n`,
    ),
  ];
  // A connection that sends one byte now and then is closed as well.
  const drip = raw(server, "GET /health HTTP/1.1\r\n");
  const timer = setInterval(() => drip.socket.write("X"), 50);
  onTestFinished(() => clearInterval(timer));
  for (const { answer } of [...waiting, drip]) expect(await answer).toMatch(/^HTTP\/1\.1 408 .*request_timeout/s);
  await expectAlive(server);
});

const REFUSED: readonly (readonly [what: string, text: (key: string) => string, status: number])[] = [
  [
    "10,000 headers",
    (key: string) => `GET /health HTTP/1.1\r\n${head(key, ...Array.from({ length: 10_000 }, (_, at) => `X-${at}: y`))}`,
    413,
  ],
  [
    "a length beside chunks",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    400,
  ],
  [
    "two lengths",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Content-Length: 5", "Content-Length: 6")}{}`,
    400,
  ],
  [
    "invalid chunks",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Transfer-Encoding: chunked")}zz\r\n`,
    400,
  ],
  [
    "chunks over the limit",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Transfer-Encoding: chunked")}200000\r\n${"x".repeat(0x10_0001)}`,
    413,
  ],
  [
    "a length over the limit",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Content-Length: 99999999999")}{`,
    413,
  ],
  [
    "a coding beside chunks",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Transfer-Encoding: gzip, chunked")}2\r\n{}\r\n0\r\n\r\n`,
    400,
  ],
  [
    "a body that says that it is compressed",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json", "Content-Encoding: gzip", "Content-Length: 12")}{"name":"A"}`,
    415,
  ],
  [
    "a body that says that it is not UTF-8",
    (key: string) =>
      `POST /v1/agents HTTP/1.1\r\n${head(key, "Content-Type: application/json; charset=utf-16", "Content-Length: 12")}{"name":"A"}`,
    415,
  ],
  ["an address of another host", (key: string) => `GET http://evil.example/v1/agents HTTP/1.1\r\n${head(key)}`, 400],
  ["a socket route without an upgrade", (key: string) => `GET /v1/ws HTTP/1.1\r\n${head(key)}`, 400],
  ["an unknown method", (key: string) => `BREW /health HTTP/1.1\r\n${head(key)}`, 400],
  ["a header with a NUL", (key: string) => `GET /health HTTP/1.1\r\n${head(key, "X: a\0b")}`, 400],
  ["a folded header", (key: string) => `GET /health HTTP/1.1\r\n${head(key, "X: a\r\n b")}`, 400],
];

test("invalid or ambiguous HTTP requests are rejected, and the server continues", async () => {
  const server = await testServer();
  for (const [what, text, status] of REFUSED) {
    const answer = await raw(server, text(server.key)).answer;
    expect(answer, what).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*"request_id":`, "s"));
    await expectAlive(server);
  }
});

test("a body that ends before its Content-Length creates nothing", async () => {
  const server = await testServer();
  const { socket, answer } = raw(
    server,
    `POST /v1/agents HTTP/1.1\r\n${head(server.key, "Content-Type: application/json", "Content-Length: 100")}{"name":"A"}`,
  );
  socket.end();
  expect(await answer).toMatch(/^(HTTP\/1\.1 400 .*)?$/s);
  expect((await server.call("GET", "/v1/agents")).body.data).toEqual([]);
});

test("a request with Expect: 100-continue gets 100 Continue before its body is sent", async () => {
  const server = await testServer();
  const body = JSON.stringify({ name: "A" });
  const { socket, answer } = raw(
    server,
    `POST /v1/agents HTTP/1.1\r\n${head(server.key, "Content-Type: application/json", "Expect: 100-continue", `Content-Length: ${body.length}`)}`,
  );
  socket.once("data", () => socket.write(body));
  expect(await answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
});

test("200 idle connections do not block other connections", async () => {
  const server = await testServer();
  const idle = Array.from({ length: 200 }, () => raw(server, "").socket);
  await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  await expectAlive(server);
  expect((await session(server.call)).id).toBeDefined();
});

test("several processes on one store divide a key's limits among them", () => {
  let processes = 1;
  const limits = { ...DEFAULT_LIMITS, requestBurst: 10, requestsPerSecond: 1, streams: 5 };
  const granted = (take: () => void): number => {
    for (let count = 0; ; count++)
      try {
        take();
      } catch (error) {
        expect(error).toMatchObject({ code: "rate_limited" });
        return count;
      }
  };
  const meter = createMeter(
    limits,
    () => 0,
    () => processes,
  );
  expect(granted(() => meter.request("alone"))).toBe(10);
  processes = 2;
  expect(granted(() => meter.request("shared"))).toBe(5);
  expect(granted(() => void meter.stream("shared"))).toBe(3);
});
