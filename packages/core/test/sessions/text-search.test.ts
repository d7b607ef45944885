import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { excerptOf } from "../../src/sessions/text-search.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import { createScript } from "../../src/testing/script.ts";
import { createIds } from "@skein/protocol";

test.each([
  ["the text that was said", '{"text":"Find the Needle here"}', "needle", "Find the Needle here"],
  ["no match in the name of a field", '{"text":"Find it"}', "text", undefined],
  ["a value that contains the name of its field", '{"error":"An error of the disk"}', "error", "An error of the disk"],
  [
    "quotation marks and line ends as people see them",
    String.raw`{"text":"say \"a\nb\" twice"}`,
    '"a\nb"',
    'say "a\nb" twice',
  ],
  [
    "the text of a piece of JSON that begins inside a string",
    String.raw`00 \\ old needle","error":null}`,
    "needle",
    String.raw`00 \ old needle`,
  ],
  [
    "no part of a character that was cut at the end",
    String.raw`{"text":"needle ${"x".repeat(158)}\ud83d\ude00"}`,
    "needle",
    `needle ${"x".repeat(158)}`,
  ],
  ["a Windows path at its end", String.raw`{"text":"needle in C:\\abc"}`, "needle", String.raw`needle in C:\abc`],
  [
    "no part of an escape that was cut at the end",
    String.raw`{"text":"needle ${"x".repeat(156)}\u0007"}`,
    "needle",
    `needle ${"x".repeat(156)}`,
  ],
  [
    "no part of an escape that was cut at the start",
    String.raw`{"text":"old\u0007${"x".repeat(20)}needle"}`,
    "needle",
    `${"x".repeat(20)}needle`,
  ],
  [
    "no part of a line end that was cut at the start",
    String.raw`{"text":"old\\\n${"x".repeat(23)}needle"}`,
    "needle",
    `${"x".repeat(23)}needle`,
  ],
])("an excerpt has %s", (_, json, text, expected) => {
  expect(excerptOf(json, text)).toBe(expected);
});

test("a search covers a limited number of sessions, reports how far it searched, and continues from there", async () => {
  const store = createMemoryStore();
  const ids = createIds({ now: Date.now });
  const sessions = createSessions({ store, ids });
  const made: string[] = [];
  for (const text of ["needle one", "hay", "needle two", "text"]) {
    const script = createScript({ store, ids });
    await script.create();
    await script.toolTurn(text);
    made.push(script.sessionId);
  }
  const first = await sessions.search({ text: "NEEDLE", limit: 2 });
  expect(first.items.map(({ session, excerpt }) => [session.id, excerpt])).toEqual([[made[2], "needle two"]]);
  expect(first.searchedUntil).toBe((await store.get(made[2] ?? ""))?.last_run_at);
  const rest = await sessions.search({ text: "NEEDLE", limit: 2, cursor: first.cursor ?? "" });
  expect(rest).toMatchObject({ items: [{ session: { id: made[0] } }], cursor: null });
  expect((await sessions.search({ text: "text" })).items.map(({ session }) => session.id)).toEqual([made[3]]);
  expect((await createSessions({ store, ids, tenant: "other" }).search({ text: "needle" })).items).toEqual([]);
});
