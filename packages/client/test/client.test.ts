import { createServer as createTcpServer, type Socket, connect } from "node:net";
import type { AddressInfo } from "node:net";
import { type Followed, SkeinError, createClient } from "@skein/client";
import type { Event } from "@skein/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, scripted, testServer } from "../../server/test/world.ts";
import { PATIENCE_MS } from "../../../scripts/patience.ts";

/** Starts a proxy in front of a server. `slam` cuts every connection through the proxy. */
async function door(url: string): Promise<{ url: string; slam: () => void; passed: () => number }> {
  let bytes = 0;
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    const target = connect(Number(new URL(url).port), "127.0.0.1");
    for (const one of [socket, target]) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => open.delete(one));
    }
    target.on("data", (chunk) => (bytes += chunk.length));
    socket.pipe(target).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const slam = (): void => {
    for (const one of open) one.resetAndDestroy();
  };
  onTestFinished(() => {
    slam();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, slam, passed: () => bytes };
}

test("the calls are typed from the route table, and errors have the server's code", async () => {
  const { url, key } = await testServer();
  const client = createClient({ url, apiKey: key });
  const agent = await client.createAgent({ body: { name: "Helper", tags: ["a"] }, idempotencyKey: "once" });
  expect(agent.config.max_steps).toBe(50);
  const { id: session_id } = await client.createAgentSession({ params: { agent_id: agent.id }, body: {} });
  const { run_id } = await client.postMessage({
    params: { session_id },
    body: { role: "user", content: { text: scripted("Hi.", [{ text: "Hello." }]) } },
  });
  const types: string[] = [];
  for await (const one of client.follow(session_id, { runId: run_id }))
    if (one.type === "event") types.push(one.event.event_type);
  expect(types.at(-1)).toBe("session.completed");
  expect((await client.getRun({ params: { session_id, run_id } })).final_response).toBe("Hello.");
  expect((await client.listAgents()).data).toEqual([agent]);
  expect((await client.listSessions({ query: { status: "completed", limit: 1 } })).data).toHaveLength(1);
  expect(await client.deleteSession({ params: { session_id } })).toBeUndefined();
  await expect(client.getSession({ params: { session_id } })).rejects.toMatchObject({ code: "not_found", status: 404 });
  expect(await client.home()).toMatch(/<h1>Skein/);
});

test("follow continues over connections that are cut, without a gap or a repeat", async () => {
  const { url, key } = await testServer({ store: `sqlite:${folder()}/skein.db` });
  const { url: through, slam, passed } = await door(url);
  const direct = createClient({ url, apiKey: key });
  const agent = await direct.createAgent({ body: { name: "Helper" } });
  const { id: session_id } = await direct.createSession({ body: { agent_id: agent.id } });
  const seen: Event[] = [];
  let reconnects = 0;
  const following = (async () => {
    const options = { onReconnect: () => (reconnects += 1) };
    for await (const one of createClient({ url: through, apiKey: key }).follow(session_id, options)) {
      if (one.type === "event") seen.push(one.event);
      if (seen.filter(({ event_type }) => event_type === "session.completed").length === 8) return;
    }
  })();
  for (let run = 0; run < 8; run++) {
    const text = scripted(`Run ${run}.`, [{ text: "Some words to stream.", chunk: 3, chunkDelayMs: 10 }]);
    const before = passed();
    await direct.postMessage({ params: { session_id }, body: { role: "user", content: { text } } });
    // The first four cuts come in the middle of an answer.
    if (run < 4) await vi.waitFor(() => expect(passed()).toBeGreaterThan(before + 1000), PATIENCE_MS);
    slam();
  }
  await following;
  const { data } = await direct.listEvents({ params: { session_id }, query: { limit: 1000 } });
  expect(seen).toEqual(data);
  expect(reconnects).toBeGreaterThanOrEqual(4);
});

test("follow says when a connection is open again, and the application can end the wait before an attempt", async () => {
  const { url, key } = await testServer();
  const { url: through, slam } = await door(url);
  const direct = createClient({ url, apiKey: key });
  const agent = await direct.createAgent({ body: { name: "Helper" } });
  const { id } = await direct.createSession({ body: { agent_id: agent.id } });
  const stop = new AbortController();
  let opened = 0;
  const waits: number[] = [];
  const following = (async () => {
    const onOpen = (): unknown => (opened += 1);
    const pause = async (ms: number): Promise<void> => void waits.push(ms);
    const follower = createClient({ url: through, apiKey: key }).follow(id, { signal: stop.signal, onOpen, pause });
    for await (const _ of follower);
  })();
  await vi.waitFor(() => expect(opened).toBe(1), PATIENCE_MS);
  slam();
  // Nothing happens in the session, so no event says that the connection is back.
  await vi.waitFor(() => expect(opened).toBe(2), PATIENCE_MS);
  expect(waits[0]).toBeGreaterThan(0);
  stop.abort();
  await following;
});

test("follow ends when its session is deleted, and throws errors that a retry would not fix", async () => {
  const { url, key } = await testServer();
  const client = createClient({ url, apiKey: key });
  const agent = await client.createAgent({ body: { name: "Helper" } });
  const { id: session_id } = await client.createSession({ body: { agent_id: agent.id } });
  const seen: Followed[] = [];
  const following = (async () => {
    for await (const one of client.follow(session_id)) seen.push(one);
  })();
  await vi.waitFor(() => expect(seen).toHaveLength(1), PATIENCE_MS);
  await client.deleteSession({ params: { session_id } });
  await following;
  expect(seen).toHaveLength(1);
  const stranger = createClient({ url, apiKey: "nobody" }).follow(session_id);
  await expect(stranger.next()).rejects.toBeInstanceOf(SkeinError);
  const stop = new AbortController();
  stop.abort();
  expect(await client.follow(session_id, { signal: stop.signal }).next()).toEqual({ done: true, value: undefined });
});
