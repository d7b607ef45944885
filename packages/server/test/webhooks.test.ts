import { createHmac } from "node:crypto";
import { type IncomingHttpHeaders, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSessions } from "@skein/core";
import { openStore } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { folder, say, scripted, session, settled, testServer } from "./world.ts";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Told {
  readonly data: { readonly data: { readonly title: string } };
}

/** Starts a receiver that answers first with these statuses, and afterwards with 204. */
async function receiver(...statuses: readonly number[]) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const status = statuses[received.length] ?? 204;
      received.push({ headers: request.headers, body });
      response.writeHead(status, status === 302 ? { location: "http://169.254.169.254/" } : {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received };
}

test("a notice of a run has a valid signature, and a failed notice is retried with the same id", async () => {
  const { call } = await testServer({ webhookAddresses: ["127.0.0.1"] });
  const { url, received } = await receiver(500, 302);
  const made = await call("POST", "/v1/webhooks", { url, events: ["session.completed"] });
  expect(made).toMatchObject({ status: 201, body: { url, secret: expect.stringMatching(/^whsec_/) } });
  const { path, id } = await session(call);
  await say(call, path, scripted("Hi.", [{ text: "Hello." }]));
  await settled(call, path);
  await expect.poll(() => received.length).toBe(3);
  const key = Buffer.from(String(made.body["secret"]).slice("whsec_".length), "base64");
  for (const { headers, body } of received) {
    const text = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
    expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(text).digest("base64")}`);
    expect(JSON.parse(body)).toMatchObject({
      type: "session.completed",
      data: { session_id: id, data: { final_response: "Hello." } },
    });
  }
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const deliveries = async () => (await call("GET", `/v1/webhooks/${made.body.id}/deliveries`)).body.data;
  await expect
    .poll(deliveries)
    .toMatchObject([{ state: "delivered", attempts: 3, last_status: 204, last_error: null }]);
  expect(JSON.stringify((await call("GET", "/v1/webhooks")).body)).not.toContain("whsec_");
  expect((await call("DELETE", `/v1/webhooks/${made.body.id}`)).status).toBe(204);
  await say(call, path, "Again.");
  await settled(call, path, "total_runs", ["2"]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(received).toHaveLength(3);
});

test("a notice that still waits when the server stops is delivered by the next server", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const first = await testServer({ store, webhookAddresses: ["127.0.0.1"], webhookRetryMs: [3000] });
  const { url, received } = await receiver(503);
  const { body: webhook } = await first.call("POST", "/v1/webhooks", { url, events: ["session.completed"] });
  const { path } = await session(first.call);
  await say(first.call, path, "Hi.");
  await expect.poll(() => received.length).toBe(1);
  const deliveries = async () => (await first.call("GET", `/v1/webhooks/${webhook.id}/deliveries`)).body.data;
  await expect.poll(deliveries).toMatchObject([{ state: "pending", last_status: 503 }]);
  await first.close();
  await testServer({ store, webhookAddresses: ["127.0.0.1"] });
  await expect.poll(() => received.length).toBe(2);
});

test("if a process dies after it stored an event and before it stored the notice, the next process sends the notice once", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const first = await testServer({ store, webhookAddresses: ["127.0.0.1"] });
  const { url, received } = await receiver();
  const { body: webhook } = await first.call("POST", "/v1/webhooks", { url, events: ["session.edited"] });
  const { path, id } = await session(first.call);
  await first.call("PATCH", path, { title: "Told at once" });
  await expect.poll(() => received.length).toBe(1);
  await first.close();
  // This writer announces no events, like a process that is killed right after its commit.
  const silent = await openStore(store);
  await createSessions({ store: silent }).edit(id, { title: "Told later" });
  await silent.close();
  const titles = () => received.map(({ body }) => (JSON.parse(body) as Told).data.data.title);
  const second = await testServer({ store, webhookAddresses: ["127.0.0.1"] });
  await expect.poll(titles).toEqual(["Told at once", "Told later"]);
  // The second server read both events in the log, and made no second delivery for the first event.
  const deliveries = (await second.call("GET", `/v1/webhooks/${webhook.id}/deliveries`)).body.data;
  expect(deliveries.map(({ event_sequence }) => event_sequence)).toEqual([3, 2]);
  await second.call("PATCH", path, { title: "Told by the second" });
  await expect.poll(titles).toEqual(["Told at once", "Told later", "Told by the second"]);
});

test("a server sends notices about events that another process stored", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const { call } = await testServer({ store, webhookAddresses: ["127.0.0.1"] });
  const { url, received } = await receiver();
  await call("POST", "/v1/webhooks", { url, events: ["session.edited"] });
  const { id } = await session(call);
  const other = await openStore(store);
  onTestFinished(() => other.close());
  await createSessions({ store: other }).edit(id, { title: "From elsewhere" });
  await expect.poll(() => received.length).toBe(1);
});

test.each([
  "http://127.0.0.1/",
  "http://127.1/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://①②⑦.⓪.⓪.①/",
  "http://127。0。0。1/",
  "http://0/",
  "http://0.0.0.0/",
  "http://[::]/",
  "http://[::1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:169.254.169.254]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[::127.0.0.1]/",
  "http://169.254.169.254/",
  "http://[fd00:ec2::254]/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://192.168.0.1/",
  "http://100.64.0.1/",
  "http://198.18.0.1/",
  "http://192.0.2.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://localhost/",
  "http://localhost./",
  "http://x.localhost/",
  "http://user@example.com/",
  "http://example.com@127.0.0.1/",
  "http://metadata.google.internal/",
  "file:///etc/passwd",
  "gopher://example.com/",
  "ftp://example.com/",
  "data:text/plain,x",
  "http://example.com:22/",
  "http://example.com:6379/",
  "not a url",
  "http://",
])("a webhook to %s is rejected", async (url) => {
  const { call } = await testServer();
  expect(await call("POST", "/v1/webhooks", { url })).toMatchObject({
    status: 422,
    body: { error: { code: "url_not_allowed" } },
  });
});

test("a changed webhook keeps its secret, and a notice whose retries are used up can be sent again", async () => {
  const { call } = await testServer({ webhookAddresses: ["127.0.0.1"], webhookRetryMs: [] });
  const [first, second] = [await receiver(500), await receiver()];
  const made = await call("POST", "/v1/webhooks", { url: first.url, events: ["session.completed"] });
  const path = `/v1/webhooks/${made.body.id}`;
  const { path: at } = await session(call);
  await say(call, at, scripted("Hi.", [{ text: "Hello." }]));
  const deliveries = async () => (await call("GET", `${path}/deliveries`)).body.data;
  await expect.poll(deliveries).toMatchObject([{ state: "failed", attempts: 1, last_status: 500 }]);
  const [delivery] = await deliveries();

  const changed = await call("PATCH", path, { url: second.url });
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ url: second.url })]);
  expect(changed.body).not.toHaveProperty("secret");
  const again = await call("POST", `${path}/deliveries/${String(delivery?.["id"])}/redeliver`);
  expect([again.status, again.body]).toEqual([
    202,
    expect.objectContaining({ id: delivery?.["id"], state: "pending" }),
  ]);
  await expect.poll(deliveries).toMatchObject([{ state: "delivered", last_status: 204 }]);
  expect(second.received[0]?.headers["webhook-id"]).toBe(first.received[0]?.headers["webhook-id"]);
  const key = Buffer.from(String(made.body["secret"]).slice("whsec_".length), "base64");
  const { headers, body } = second.received[0] ?? { headers: {}, body: "" };
  const text = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
  expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(text).digest("base64")}`);

  expect((await call("PATCH", path, { url: "http://10.0.0.1/x" })).body.error.code).toBe("url_not_allowed");
  for (const wrong of [{ events: [] }, { events: ["x"] }, { secret: "x" }])
    expect((await call("PATCH", path, wrong)).status).toBe(422);
  const nobody = "00000000-0000-7000-8000-000000000000";
  expect((await call("POST", `${path}/deliveries/${nobody}/redeliver`)).status).toBe(404);
  expect((await call("PATCH", `/v1/webhooks/${nobody}`, {})).status).toBe(404);
});
