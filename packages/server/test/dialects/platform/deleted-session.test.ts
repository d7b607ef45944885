/** Tests that a deleted session leaves no content anywhere. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { folder, say, scripted, session, settled, testServer } from "../../world.ts";

/** Returns the content of all tables of a sqlite file as text. */
function tablesOf(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  const names = database.prepare("select name from sqlite_schema where type = 'table'").all();
  const rows = names.map(({ name }) => database.prepare(`select * from "${String(name)}"`).all());
  database.close();
  return JSON.stringify(rows, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value,
  );
}

test("deleting a session also removes its agent memories, stored responses and notices", async () => {
  const home = folder();
  const receiver = createServer((_, response) => void response.writeHead(500).end());
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void receiver.close());
  const store = `sqlite:${join(home, "skein.db")}`;
  const { call } = await testServer({ store, webhookAddresses: ["127.0.0.1"] });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const { body: webhook } = await call("POST", "/v1/webhooks", { url, events: ["session.completed"] });
  const { agentId, path: kept } = await session(call, { memory_store_type: "full_text" });
  await say(call, kept, scripted("Where is the lighthouse?", [{ text: "On the cliff." }]));
  await settled(call, kept);
  const key = { "idempotency-key": "zanzibar" };
  const made = await call("POST", `/v1/agents/${agentId}/sessions`, { title: "Zanzibar" }, key);
  const path = `/v1/sessions/${made.body.id}`;
  await say(call, path, scripted("Where is the lighthouse of Zanzibar?", [{ text: "In Zanzibar." }]));
  await settled(call, path);
  const deliveries = async () => (await call("GET", `/v1/webhooks/${webhook.id}/deliveries`)).body.data;
  await expect.poll(async () => (await deliveries()).map(({ state }) => state)).toEqual(["failed", "failed"]);
  const files = [join(home, "skein.db"), join(home, "skein.db.memory")];
  for (const file of files) expect(tablesOf(file)).toMatch(/zanzibar/i);

  expect((await call("DELETE", path)).status).toBe(204);
  expect(await deliveries()).toHaveLength(1);
  for (const file of files) expect(tablesOf(file)).not.toMatch(/zanzibar/i);
  expect(tablesOf(join(home, "skein.db.memory"))).toContain("On the cliff.");
  const again = await call("POST", `/v1/agents/${agentId}/sessions`, { title: "Zanzibar" }, key);
  expect([again.status, again.body.error.message]).toEqual([404, expect.stringContaining("was deleted")]);
});
