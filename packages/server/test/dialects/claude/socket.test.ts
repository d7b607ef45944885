import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createKeys } from "@skein/server";
import { openStore } from "skein";
import { folder, scripted, session, settled, testServer } from "../../world.ts";
import { open, talk } from "./world.ts";

/** Who may connect to `/api/v1/query/ws`, and how connections end. */

const at = (url: string): string => `${url.replace("http", "ws")}/api/v1/query/ws`;

/** Returns the status with which an upgrade is rejected. */
async function refused(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const socket = new WebSocket(at(url), { headers });
  return new Promise((resolve, reject) => {
    socket.once("unexpected-response", (_, response) => resolve(response.statusCode ?? 0));
    socket.once("open", () => reject(new Error("It was let in.")));
    socket.once("error", () => {});
  });
}

test("a socket is rejected without a key, with a wrong key, and from a page of another site", async () => {
  const { url, key } = await testServer();
  expect(await refused(url, {})).toBe(401);
  expect(await refused(url, { "x-api-key": `${key}x` })).toBe(401);
  expect(await refused(url, { "x-api-key": key, origin: "https://evil.example" })).toBe(403);
});

test("a read-only key may connect but not send prompts, and invalid messages are reported", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const server = await testServer({ store });
  const own = await openStore(store);
  onTestFinished(() => own.close());
  const key = await createKeys({ records: own.records }).make({ name: "reader", scopes: ["read"], tenant: "default" });
  const reader = await talk({ url: server.url, key });
  reader.send({ type: "prompt", prompt: "Hi." });
  expect(await reader.until(({ type }) => type === "error")).toMatchObject({ code: "forbidden" });
  reader.close();
  const socket = await talk(server);
  socket.send("not an object");
  expect(await socket.until(({ type }) => type === "error")).toMatchObject({ code: "VALIDATION_ERROR" });
  socket.send({ type: "interrupt" });
  expect(await socket.until(({ code }) => code === "SESSION_NOT_FOUND")).toMatchObject({ type: "error" });
  socket.close();
});

test("messages of a socket are handled in order, so an interrupt stops the run of the prompt before it", async () => {
  const server = await testServer();
  const { id } = await session(server.call);
  const socket = await talk(server);
  socket.send({ type: "prompt", prompt: scripted("Hang.", [{ hang: true }]), session_id: id });
  socket.send({ type: "interrupt" });
  await socket.until(({ event }) => event === "done");
  const acks = socket.said.filter(({ type }) => type !== "sse_event");
  expect(acks.map(({ message }) => message)).toEqual(["accepted", "interrupted"]);
  expect(acks[1]?.["run_id"]).toBe(acks[0]?.["run_id"]);
  expect(socket.said.at(-1)).toMatchObject({ event: "done", data: { reason: "interrupted" } });
  socket.close();
});

test("a server that stops notifies its sockets and waiting requests, and ends its streams without reporting an end of the run", async () => {
  const server = await testServer();
  const { id } = await session(server.call);
  const socket = await talk(server);
  socket.send({ type: "prompt", prompt: scripted("Hang.", [{ hang: true }]), session_id: id });
  await socket.until(({ event }) => event === "init");
  const stream = await open(server, `/api/v1/sessions/${id}/stream`);
  await stream.until(({ event }) => event === "init");
  const waiting = async () => {
    const { id: session_id, path } = await session(server.call);
    const asked = { prompt: scripted("Hang as well.", [{ hang: true }]), session_id };
    const answer = server.call("POST", "/api/v1/query/single", asked);
    await settled(server.call, path, "activity", ["running"]);
    return { session_id, answer };
  };
  const deleted = await waiting();
  await server.call("DELETE", `/api/v1/sessions/${deleted.session_id}`);
  expect(await deleted.answer).toMatchObject({ status: 404, body: { error: { code: "SESSION_NOT_FOUND" } } });
  const { session_id, answer } = await waiting();
  await server.close();
  expect(await answer).toMatchObject({ status: 503, body: { error: { details: { session_id } } } });
  expect(await socket.until(({ type }) => type === "closing")).toMatchObject({ reason: "shutdown" });
  const frames = await stream.end();
  expect(frames.some(({ event }) => event === "done")).toBe(false);
  expect(frames.at(-1)).toMatchObject({ event: "error", data: { code: "SERVICE_UNAVAILABLE" } });
});

test("comments keep an idle stream open", async () => {
  const server = await testServer({ limits: { heartbeatMs: 20 } });
  const { id } = await session(server.call);
  const stream = await open(server, `/api/v1/sessions/${id}/resume`, { prompt: scripted("Hang.", [{ hang: true }]) });
  await stream.until(({ event }) => event === "init");
  await expect.poll(() => stream.comments.length).toBeGreaterThan(2);
  await server.call("POST", `/api/v1/sessions/${id}/interrupt`);
  await stream.end();
});
