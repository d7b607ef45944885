import { FACTS, needsLease, type FactType } from "@skein/protocol";
import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const RUN_FACTS = "packages/core/src/run/facts/";
const SESSION_FACTS = "packages/core/src/sessions/session-facts.ts";

/** Where facts may be written by hand: their schemas, and the scripts of the contract suites. */
const FREE = ["packages/protocol/", "packages/core/src/testing/"];

const literal = new RegExp(
  String.raw`\bevent_type\s*:\s*["'\`](${Object.keys(FACTS)
    .map((type) => type.replace(".", String.raw`\.`))
    .join("|")})["'\`]`,
  "g",
);
/** Returns the facts that a file must not construct. Each fact is listed with the place where it belongs. */
function misplacedFacts(path: string, source: string): readonly string[] {
  if (FREE.some((folder) => path.startsWith(folder))) return [];
  if (source.search(literal) === -1) return [];
  // A type may name a fact without constructing one.
  return [...stripTypeScriptTypes(source).matchAll(literal)].flatMap(([, name]) => {
    const home = needsLease(name as FactType) ? RUN_FACTS : SESSION_FACTS;
    if (path.startsWith(home)) return [];
    return [`${path} constructs ${name}. Call its constructor in ${home} instead.`];
  });
}

test("facts that need a lease are constructed only in run/facts, and all other facts only in session-facts.ts", () => {
  const files = globSync("packages/*/src/**/*.ts", { cwd: root });
  expect(files.length).toBeGreaterThan(100);
  const misplaced = files.flatMap((path) => misplacedFacts(path, readFileSync(`${root}/${path}`, "utf8")));
  expect(misplaced).toEqual([]);
});

describe("a fact that is constructed elsewhere is found", () => {
  const loop = "packages/core/src/loop/planted.ts";

  test.each([
    ["a literal", 'const fact = { event_type: "step.started", data: {} };'],
    ["a literal with its data first", 'const fact = { data: {}, event_type: "step.started" };'],
    ["a constant literal", 'const fact = { event_type: "step.started" as const, data };'],
    ["a literal over two lines", 'emit({\n  event_type:\n    "step.started",\n  data: {},\n});'],
  ])("%s of a fact that needs a lease is found outside of run/facts", (_what, source) => {
    expect(misplacedFacts(loop, source)).toEqual([
      `${loop} constructs step.started. Call its constructor in packages/core/src/run/facts/ instead.`,
    ]);
  });

  test("a literal of a fact that needs no lease is found outside of session-facts.ts", () => {
    expect(misplacedFacts(loop, 'append({ event_type: "prompt.accepted", data });')).toEqual([
      `${loop} constructs prompt.accepted. Call its constructor in packages/core/src/sessions/session-facts.ts instead.`,
    ]);
  });

  test.each([
    ["a type", 'type Ended = Extract<Event, { event_type: "session.completed" | "session.failed" }>;'],
    ["a comparison", 'if (event.event_type === "step.started") count(event.data);'],
    ["a pattern", "for (const { event_type, data } of events) show(event_type, data);"],
    ["an argument's pattern", "events.map(({ event_type, data }) => [event_type, data]);"],
  ])("%s is not a fact", (_what, source) => {
    expect(misplacedFacts(loop, source)).toEqual([]);
  });
});
