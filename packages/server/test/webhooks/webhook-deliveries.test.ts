import { type Store, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { KnownError, createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { type StoredWebhook, type ToldEvent, createDeliveries } from "../../src/webhooks/webhook-deliveries.ts";

const DAY = 24 * 3600 * 1000;

const webhookOf = (name: string, at: number): StoredWebhook => ({
  id: createIds()(),
  tenant: "default",
  url: `https://example.com/${name}`,
  events: ["session.created"],
  secret: "whsec_AAAA",
  created_at: new Date(at).toISOString(),
});

/** Begins a session and returns its first event. */
async function begun(store: Store): Promise<ToldEvent> {
  const script = createScript({ store, ids: createIds() });
  await script.create();
  return (await store.read(script.sessionId))[0] as ToldEvent;
}

test("a receiver that does not answer uses few connections, and other receivers get their notices", async () => {
  const store = createMemoryStore();
  const stuck: (() => void)[] = [];
  const told: string[] = [];
  const deliveries = createDeliveries({
    store,
    now: Date.now,
    sender: {
      problemWith: () => undefined,
      send: async (url) => {
        if (url.endsWith("stuck")) await new Promise<void>((resolve) => void stuck.push(resolve));
        told.push(url);
        return 204;
      },
    },
    report: () => {},
  });
  const hooks = ["stuck", "other"].map((name) => webhookOf(name, 0));
  await store.records.put(hooks.map((value) => ({ tenant: "$webhooks", kind: "webhook", id: value.id, value })));
  for (let at = 0; at < 20; at++) for (const hook of hooks) await deliveries.add(hook, await begun(store));
  await expect.poll(() => told.length).toBe(20);
  expect(stuck).toHaveLength(4);
  // A second search for waiting deliveries does not send a queued delivery again.
  await deliveries.resume();
  await expect
    .poll(() => {
      for (const go of stuck.splice(0)) go();
      return told.length;
    })
    .toBe(40);
  expect(told.filter((url) => url.endsWith("stuck"))).toHaveLength(20);
  deliveries.stop();
});

test("if the store is unavailable when a notice is to be sent, the notice stays pending and no attempt is counted", async () => {
  const store = createMemoryStore();
  let isAway = false;
  const flaky: Store = {
    ...store,
    async read(...args) {
      if (isAway) throw new KnownError("store_unavailable", "Not now.");
      return store.read(...args);
    },
  };
  const reported: unknown[] = [];
  const deliveries = createDeliveries({
    store: flaky,
    now: Date.now,
    sender: { problemWith: () => undefined, send: async () => 204 },
    report: (error) => reported.push(error),
  });
  const webhook = webhookOf("one", 0);
  await store.records.put([{ tenant: "$webhooks", kind: "webhook", id: webhook.id, value: webhook }]);
  const event = await begun(store);
  isAway = true;
  await deliveries.add(webhook, event);
  await expect.poll(() => reported.length).toBe(1);
  const [kept] = (await deliveries.list(webhook.id, {})).items;
  expect(kept).toMatchObject({ state: "pending", attempts: 0 });
  deliveries.stop();
});

test("a notice that is added twice is sent once, and is removed after 30 days", async () => {
  let time = Date.parse("2026-11-15T12:00:00Z");
  const now = (): number => time;
  const store = createMemoryStore({ now });
  const sent: string[] = [];
  const deliveries = createDeliveries({
    store,
    now,
    sender: {
      problemWith: () => undefined,
      send: async (_, { headers }) => {
        sent.push(headers["webhook-id"] ?? "");
        return 204;
      },
    },
    report: (error) => {
      throw error;
    },
  });
  const ids = createIds({ now });
  const webhook = webhookOf("", time);
  await store.records.put([{ tenant: "$webhooks", kind: "webhook", id: webhook.id, value: webhook }]);
  const tell = async (): Promise<void> => {
    const script = createScript({ store, ids });
    await script.create();
    const [event] = await store.read(script.sessionId);
    await deliveries.add(webhook, event as ToldEvent);
    await deliveries.add(webhook, event as ToldEvent);
  };
  const listed = async () => (await deliveries.list(webhook.id, {})).items.map(({ state }) => state);
  await tell();
  await expect.poll(listed).toEqual(["delivered"]);
  time += 20 * DAY;
  await tell();
  await expect.poll(listed).toEqual(["delivered", "delivered"]);
  expect(new Set(sent).size).toBe(2);
  expect(sent).toHaveLength(2);
  await deliveries.sweep();
  expect(await listed()).toHaveLength(2);
  time += 15 * DAY;
  await deliveries.sweep();
  expect(await listed()).toHaveLength(1);
  deliveries.stop();
});
