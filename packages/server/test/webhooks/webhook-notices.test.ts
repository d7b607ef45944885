import { type Store, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { type StoredWebhook, createDeliveries } from "../../src/webhooks/webhook-deliveries.ts";
import { createNotices } from "../../src/webhooks/webhook-notices.ts";

test("without webhooks no session is read, and 50 new sessions cause fewer than 50 searches for webhooks", async () => {
  const kept = createMemoryStore();
  const asked = { sessions: 0, webhooks: 0 };
  const store: Store = {
    ...kept,
    get: (id, options) => {
      asked.sessions += 1;
      return kept.get(id, options);
    },
    records: {
      ...kept.records,
      list: (query) => {
        asked.webhooks += 1;
        return kept.records.list(query);
      },
    },
  };
  const told: string[] = [];
  const deps = { store, now: Date.now, report: () => {} };
  const sender = {
    problemWith: () => undefined,
    send: async (url: string) => {
      told.push(url);
      return 204;
    },
  };
  const deliveries = createDeliveries({ ...deps, sender });
  const notices = createNotices({ ...deps, deliveries });
  const begin = (): Promise<unknown> => createScript({ store, ids: createIds() }).create();
  await Promise.all(Array.from({ length: 50 }, begin));
  await expect.poll(() => asked.webhooks).toBeGreaterThan(0);
  expect(asked).toEqual({ sessions: 0, webhooks: expect.toSatisfy((times: number) => times < 50) });

  const webhook: StoredWebhook = {
    id: createIds()(),
    tenant: "default",
    url: "https://example.com/one",
    events: ["session.created"],
    secret: "whsec_AAAA",
    created_at: new Date(0).toISOString(),
  };
  await store.records.put([
    { tenant: "$webhooks", kind: "webhook", id: webhook.id, value: webhook, fields: { tenant: "default" } },
  ]);
  await begin();
  await expect.poll(() => told).toEqual([webhook.url]);
  notices.stop();
  deliveries.stop();
});
