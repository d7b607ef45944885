import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { openStore } from "skein";
import { expect, test } from "vitest";
import { folder, testServer } from "../../world.ts";

/** Sessions whose log is too long for one read. */

test("the pages of a long session have every message once, in order", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const own = await openStore(store);
  const script = createScript({ store: own, ids: createIds() });
  await script.create();
  for (let turn = 1; turn <= 90; turn += 1) await script.toolTurn(`Turn ${turn}.`);
  expect((await own.get(script.sessionId))?.total_runs).toBe(90);
  await own.close();
  const { call } = await testServer({ store });
  const rows: { id: string; message_type: string; content: unknown }[] = [];
  let total = Infinity;
  for (let page = 1; rows.length < total; page += 1) {
    const { body } = await call("GET", `/api/v1/sessions/${script.sessionId}/messages?page=${page}&page_size=70`);
    total = body["total"] as number;
    rows.push(...(body["messages"] as typeof rows));
  }
  // Each turn has a prompt, a tool call, the result of the tool call, an answer and the result of the run.
  expect([rows.length, total]).toEqual([450, 450]);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(450);
  const prompts = rows.filter(({ content }) => /"Turn \d+\."/.test(JSON.stringify(content)));
  const said = prompts.flatMap(({ content }) => /"text":"Turn (\d+)\."/.exec(JSON.stringify(content))?.[1] ?? []);
  expect(said).toEqual(Array.from({ length: 90 }, (_, index) => String(index + 1)));
  expect(rows.slice(0, 5).map(({ message_type }) => message_type)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "result",
  ]);
  const beyond = await call("GET", `/api/v1/sessions/${script.sessionId}/messages?page=100`);
  expect(beyond.body).toMatchObject({ messages: [], total: 450, page: 100 });
});
