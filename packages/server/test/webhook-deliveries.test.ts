import { createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { type StoredWebhook, type ToldEvent, createDeliveries } from "../src/webhook-deliveries.ts";

const DAY = 24 * 3600 * 1000;

test("a notice is kept once whoever makes it, listed for 30 days, and then removed", async () => {
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
  const webhook: StoredWebhook = {
    id: ids(),
    tenant: "default",
    url: "https://example.com/",
    events: ["session.created"],
    secret: "whsec_AAAA",
    created_at: new Date(time).toISOString(),
  };
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
  await expect.poll(listed, { timeout: 10_000 }).toEqual(["delivered"]);
  time += 20 * DAY;
  await tell();
  await expect.poll(listed, { timeout: 10_000 }).toEqual(["delivered", "delivered"]);
  expect(new Set(sent).size).toBe(2);
  expect(sent).toHaveLength(2);
  await deliveries.sweep();
  expect(await listed()).toHaveLength(2);
  time += 15 * DAY;
  await deliveries.sweep();
  expect(await listed()).toHaveLength(1);
  deliveries.stop();
});
