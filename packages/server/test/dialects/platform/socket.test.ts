import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createKeys } from "@skein/server";
import { WebSocket } from "ws";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "skein";
import { type TestServer, folder, scripted, session, testServer } from "../../world.ts";

interface Said {
  readonly type: string;
  readonly id?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: string };
  readonly event?: { readonly event_type: string; readonly sequence: number };
  readonly draft?: { readonly event_type: string; readonly data: { readonly delta: string } };
}

async function socket({ url, key }: Pick<TestServer, "url" | "key">, protocols: string[] = []) {
  const ws = new WebSocket(
    `${url.replace("http", "ws")}/v1/ws`,
    protocols,
    protocols.length > 0 ? {} : { headers: { "x-api-key": key } },
  );
  onTestFinished(() => ws.terminate());
  const said: Said[] = [];
  ws.on("message", (data: Buffer) => said.push(JSON.parse(String(data)) as Said));
  await once(ws, "open");
  const until = async (test: (one: Said) => boolean): Promise<Said> => {
    for (const end = Date.now() + 20_000; Date.now() < end;) {
      const found = said.find(test);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`No matching message arrived within 20 s: ${JSON.stringify(said)}`);
  };
  return { ws, said, until, send: (command: object) => ws.send(JSON.stringify(command)) };
}

async function refusal(url: string, headers: Record<string, string>): Promise<number> {
  const ws = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, { headers });
  const [, response] = (await once(ws, "unexpected-response")) as [unknown, { statusCode: number }];
  ws.on("error", () => {});
  return response.statusCode;
}

test("one socket carries frames, prompts, answers and cancels of several sessions", async () => {
  const server = await testServer();
  const frontend_tools = [{ name: "pick", description: "Picks.", input_schema: { type: "object" } }];
  const one = await session(server.call, { frontend_tools });
  const two = await session(server.call);
  const { send, until, said } = await socket(server);
  send({ type: "subscribe", id: "s1", session_id: one.id });
  send({ type: "subscribe", id: "s2", session_id: two.id, after: 1 });
  await until(({ id, type }) => type === "ack" && id === "s2");
  const text = scripted("Pick.", [
    { tools: [{ name: "pick", id: "call_1" }] },
    { text: "Blue, then.", chunk: 4, chunkDelayMs: 2 },
  ]);
  send({ type: "prompt", id: "p1", session_id: one.id, content: { text } });
  expect(await until(({ id }) => id === "p1")).toMatchObject({ type: "ack", result: { run_id: expect.any(String) } });
  await until(({ event }) => event?.event_type === "await.opened");
  send({ type: "answer", id: "a1", session_id: one.id, tool_use_id: "call_1", content: "blue" });
  expect(await until(({ id }) => id === "a1")).toMatchObject({ result: { disposition: "accepted" } });
  await until(({ event }) => event?.event_type === "session.completed");
  for (const type of ["step.generating", "message.delta"]) {
    const drafts = said.flatMap(({ draft }) => (draft?.event_type === type ? [draft.data.delta] : []));
    expect(drafts.join("")).toBe("Blue, then.");
  }
  const mine = said.flatMap(({ event }) =>
    event && (event as { session_id?: string }).session_id === one.id ? [event.sequence] : [],
  );
  expect(mine).toEqual(mine.map((_, index) => index + 1));

  send({
    type: "prompt",
    id: "p2",
    session_id: two.id,
    content: { text: scripted("Wait.", [{ delayMs: 5000, text: "x" }]) },
  });
  await until(
    ({ event }) => event?.event_type === "step.started" && (event as { session_id?: string }).session_id === two.id,
  );
  send({ type: "cancel", id: "c1", session_id: two.id });
  await until(({ id }) => id === "c1");
  await until(({ event }) => event?.event_type === "session.failed");
});

test("a browser can send its key as a WebSocket subprotocol", async () => {
  const server = await testServer();
  const { ws } = await socket(server, ["skein", `skein-key.${server.key}`]);
  expect(ws.protocol).toBe("skein");
});

test("the upgrade of a socket is rejected with 401 without a valid key, and with 403 from another origin", async () => {
  const { url, key } = await testServer();
  expect(await refusal(url, {})).toBe(401);
  expect(await refusal(url, { "x-api-key": `${key}x` })).toBe(401);
  expect(await refusal(url, { "x-api-key": key, origin: "https://evil.example" })).toBe(403);
});

test.each([
  ["/health", 200],
  ["/v1/agents", 200],
  ["/v1/nothing", 404],
])("a socket at %s is answered like any request, and the connection is closed", async (path, status) => {
  const { url, key } = await testServer();
  const ws = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: { "x-api-key": key } });
  ws.on("error", () => {});
  const [, response] = (await once(ws, "unexpected-response")) as [unknown, IncomingMessage];
  expect(response.statusCode).toBe(status);
  const closed = once(response.socket, "close");
  response.resume();
  await closed;
});

test("an invalid message gets an error with the id of the message, and the socket stays open", async () => {
  const server = await testServer();
  const { ws, send, until, said } = await socket(server);
  const nobody = "00000000-0000-7000-8000-000000000000";
  ws.send("{");
  send({ type: "explode", id: "e1" });
  send({ type: "subscribe", id: "e2", session_id: nobody });
  send({ type: "prompt", id: "e3", session_id: nobody, content: { text: "x" }, role: "assistant" });
  expect(await until(({ id }) => id === "e3")).toMatchObject({ type: "error", error: { code: "invalid" } });
  expect(await until(({ id }) => id === "e2")).toMatchObject({ type: "error", error: { code: "not_found" } });
  expect(
    said
      .filter(({ type }) => type === "error")
      .map(({ error }) => error?.code)

      .toSorted((a, b) => String(a).localeCompare(String(b))),
  ).toEqual(["invalid", "invalid", "malformed", "not_found"]);
  expect(ws.readyState).toBe(ws.OPEN);
});

test.each([
  ["a binary message", (ws: WebSocket) => ws.send(Buffer.from([1, 2])), 1003],
  ["a message over 1 MiB", (ws: WebSocket) => ws.send("x".repeat(1024 * 1024 + 1)), 1009],
  ["text that is not UTF-8", (ws: WebSocket) => ws.send(Buffer.from([0xc3, 0x28]), { binary: false }), 1007],
])("%s closes the socket with the matching close code", async (_, act, code) => {
  const { ws } = await socket(await testServer());
  act(ws);
  expect((await once(ws, "close"))[0]).toBe(code);
});

test("a message in 100,000 fragments of one byte does not affect other clients", async () => {
  const server = await testServer();
  const [one, other] = [await socket(server), await socket(server)];
  const closed = once(one.ws, "close") as Promise<[number]>;
  one.ws.on("error", () => {});
  for (let at = 0; at < 100_000; at++) one.ws.send(" ", { fin: false });
  one.ws.send("{}", { fin: true });
  // The server may join the pieces and reject the result as a command, or reject the number of pieces.
  const answer = await Promise.race([
    one.until(({ type }) => type === "error").then(({ error }) => error?.code),
    closed.then(([code]) => code),
  ]);
  expect(["invalid", 1008, 1009]).toContain(answer);
  other.send({ type: "explode", id: "still here" });
  expect(await other.until(({ id }) => id === "still here")).toMatchObject({ type: "error" });
});

test.each([
  ["pings", (ws: WebSocket) => ws.ping("x".repeat(125))],
  ["messages", (ws: WebSocket) => ws.send(JSON.stringify({ type: "x".repeat(100) }))],
])(
  "a client that sends %s and does not read the answers is paused, and then disconnected",
  async (_, flood) => {
    const server = await testServer({ limits: { backlogBytes: 10_000, backlogMs: 300 } });
    const { ws } = await socket(server);
    ws.pause();
    let isCut = false;
    ws.on("close", () => (isCut = true));
    const sendSome = async (): Promise<boolean> => {
      // Stops at 1 MB, because bytes that the server has not read stay in the memory of the sender.
      while (ws.readyState === ws.OPEN && ws.bufferedAmount < 1_000_000) flood(ws);
      await new Promise((resolve) => setTimeout(resolve, 10));
      // A client that does not read cannot learn that it was disconnected, so the test reads the server's metrics.
      const metrics = await fetch(`${server.url}/metrics`, { headers: { "x-api-key": server.key } });
      return isCut || (await metrics.text()).includes("skein_streams_cut_total 1");
    };
    await expect.poll(sendSome, { interval: 1 }).toBe(true);
  },
  60_000,
);

test("compression is never offered", async () => {
  const { ws } = await socket(await testServer());
  expect(ws.extensions).toBe("");
});

test("a client that does not answer pings is disconnected", async () => {
  const { url, key } = await testServer({ limits: { heartbeatMs: 100 } });
  const ws = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, { headers: { "x-api-key": key }, autoPong: false });
  onTestFinished(() => ws.terminate());
  expect((await once(ws, "close"))[0]).toBe(1006);
});

test("WebSocket messages count as requests of the key", async () => {
  const server = await testServer({ limits: { requestBurst: 10, requestsPerSecond: 0.001 } });
  const { send, until } = await socket(server);
  for (let at = 0; at < 20; at++) send({ type: "explode", id: String(at) });
  await until(({ error }) => error?.code === "rate_limited");
});

test("a key with the scope read may follow sessions but not prompt them, and its socket is closed when the key is revoked", async () => {
  const file = `sqlite:${folder()}/skein.db`;
  const server = await testServer({ store: file });
  const { id } = await session(server.call);
  const store = await openStore(file);
  onTestFinished(() => store.close());
  const keys = createKeys({ records: store.records });
  const key = await keys.make({ name: "guest", tenant: "default", scopes: ["read"] });
  const { ws, send, until } = await socket({ url: server.url, key });
  send({ type: "prompt", id: "p", session_id: id, content: { text: "x" } });
  expect(await until((one) => one.id === "p")).toMatchObject({ error: { code: "forbidden" } });
  send({ type: "subscribe", id: "s", session_id: id });
  await until(({ event }) => event?.event_type === "session.created");
  await keys.revoke("guest");
  expect((await once(ws, "close"))[0]).toBe(4401);
});

test("a server that stops announces this to its sockets before it closes them", async () => {
  const server = await testServer();
  const { ws, until } = await socket(server);
  const closed = once(ws, "close");
  await server.close();
  await until(({ type }) => type === "closing");
  expect((await closed)[0]).toBe(1001);
});

test("a client that does not confirm the close does not prevent a server from stopping", async () => {
  const server = await testServer();
  const { ws } = await socket(server);
  ws.pause();
  const late = new Promise((resolve) => setTimeout(resolve, 10_000, "late").unref());
  expect(await Promise.race([server.close(), late])).toBeUndefined();
}, 60_000);

test("a connection that follows 100 sessions may not follow another one, but may begin again with one of them", async () => {
  const server = await testServer();
  const { agentId, id } = await session(server.call);
  const open = async (): Promise<string> => (await server.call("POST", `/v1/agents/${agentId}/sessions`, {})).body.id;
  const others = await Promise.all(Array.from({ length: 99 }, open));
  const { send, until } = await socket(server);
  for (const session_id of [id, ...others]) send({ type: "subscribe", id: session_id, session_id });
  for (const session_id of [id, ...others])
    expect(await until((said) => said.id === session_id)).toMatchObject({ type: "ack" });
  send({ type: "subscribe", id: "101", session_id: await open() });
  expect(await until((said) => said.id === "101")).toMatchObject({ error: { code: "rate_limited" } });
  send({ type: "subscribe", id: "again", session_id: id });
  expect(await until((said) => said.id === "again")).toMatchObject({ type: "ack" });
});
