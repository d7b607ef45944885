import {
  addUsage,
  type DraftPiece,
  exactCost,
  microsOf,
  NO_USAGE,
  priceCall,
  textOf,
  type Usage,
} from "@skein/protocol";
import { expect, test } from "vitest";
import { draftsOf } from "../../live/live.ts";
import { type RuntimeFixture, only, until } from "./runtime-fixture.ts";

/** Facts that only some runtimes record. */
const OWN: ReadonlySet<string> = new Set([
  "runtime.started",
  "runtime.noticed",
  "transcript.appended",
  "checkpoint.created",
  "compaction.checked",
]);

/** The four token counts of one model call. */
const counters = (usage: Usage) => addUsage(NO_USAGE, usage);

/** Tests a prompt and its answer: the facts and the cost. */
export function describePrompts(fixture: () => RuntimeFixture): void {
  test("a new session answers its first prompt, and the log has the run from its start to its end", async () => {
    const { under, host, name } = fixture();
    const label = name();
    const accepted = await host.sessions.begin(under.agent({}), under.prompt([{ text: "Blue." }], label));
    const prompted = { ...accepted, host, label };
    const events = await fixture().ended(prompted);
    expect(events.map(({ event_type }) => event_type).filter((type) => !OWN.has(type))).toEqual([
      "session.started",
      "message.created",
      "step.started",
      "step.generated",
      "message.created",
      "session.completed",
    ]);
    expect(only(events, "session.completed")[0]?.data).toMatchObject({
      run_id: accepted.runId,
      final_response: "Blue.",
      stop_reason: "end_turn",
    });
    const transcript = await host.sessions.transcript(accepted.sessionId);
    expect(transcript.map(({ role, content }) => [role, textOf(content)])).toEqual([
      ["user", expect.stringContaining(label)],
      ["assistant", "Blue."],
    ]);
    await fixture().sound(prompted);
  });

  test("a tool call is in the log before its effect happens, and the model gets the result", async () => {
    const { under, name } = fixture();
    const effect = name();
    const prompted = await fixture().run([
      { text: "Working.", tools: [under.calls.held(effect)] },
      { text: "It $LAST" },
    ]);
    await until(() => under.effects(effect) > 0);
    const before = await prompted.host.sessions.events(prompted.sessionId);
    expect(only(before, "tool.started").at(-1)?.data.run_id).toBe(prompted.runId);
    under.go(effect);
    const events = await fixture().ended(prompted);
    expect(events.map(({ event_type }) => event_type).filter((type) => !OWN.has(type))).toEqual([
      "session.started",
      "message.created",
      "step.started",
      "step.generated",
      "message.created",
      "tool.started",
      "tool.completed",
      "message.created",
      "step.started",
      "step.generated",
      "message.created",
      "session.completed",
    ]);
    expect(only(events, "tool.completed")[0]?.data).toMatchObject({ outcome: "committed", is_error: false });
    expect(only(events, "session.completed")[0]?.data.final_response).toBe(`It did ${effect}`);
    expect(under.effects(effect)).toBe(1);
    await fixture().sound(prompted);
  });

  test("two tool calls of one answer both take effect, and their results have the order of the calls", async () => {
    const { under, name } = fixture();
    const [first, second] = [name(), name()];
    const tools = [first, second].map(under.calls.effect);
    const prompted = await fixture().run([{ tools }, { text: "Both." }]);
    const events = await fixture().ended(prompted);
    const results = only(events, "tool.completed").toSorted((a, b) => a.data.part - b.data.part);
    expect(results.map(({ data }) => textOf(data.content).trim())).toEqual([`did ${first}`, `did ${second}`]);
    expect([under.effects(first), under.effects(second)]).toEqual([1, 1]);
    await fixture().sound(prompted);
  });

  test("the next prompt of a session is answered with the earlier messages as context", async () => {
    const { under } = fixture();
    const first = await fixture().run([{ text: "The yarn is blue." }]);
    await fixture().ended(first);
    const second = await fixture().prompt(first.sessionId, [{ text: "Still blue." }]);
    expect(await fixture().answer(second)).toBe("Still blue.");
    const [asked] = under.asked(second.label);
    expect(JSON.stringify(asked?.request)).toContain("The yarn is blue.");
    expect((await second.host.sessions.state(second.sessionId)).run).toBeNull();
    await fixture().sound(second);
  });

  test("if the model's API rejects a request, the run fails with the reason, and the next prompt is answered", async () => {
    const refused = await fixture().run([{ error: { status: 403, message: "Not with this key." } }]);
    const [failed] = only(await fixture().ended(refused), "session.failed");
    expect(failed?.data).toMatchObject({ outcome: "failed", stop_reason: "error" });
    expect(failed?.data.error).toMatchObject({ status: 403, message: expect.stringContaining("Not with this key.") });
    expect(await fixture().answer(await fixture().prompt(refused.sessionId, [{ text: "Here." }]))).toBe("Here.");
    await fixture().sound(refused);
  });

  test("the log counts what the model billed, call by call, and nothing for a rejected call", async () => {
    const { under, name, host } = fixture();
    const sessionId = await fixture().session();
    const before = await host.sessions.state(sessionId);
    const overloaded = { status: 529, times: 1, retryAfter: 0 };
    const tools = [under.calls.effect(name())];
    const prompted = await fixture().prompt(sessionId, [
      { text: "Once.", tools },
      { text: "Twice.", error: overloaded },
    ]);
    const events = await fixture().ended(prompted);
    const billed = under.asked(prompted.label).filter(({ outcome }) => outcome === "answered");
    expect(billed).toHaveLength(2);
    const generated = only(events, "step.generated").map(({ data }) => data);
    expect(generated.map(({ usage }) => counters(usage))).toEqual(billed.map(({ usage }) => counters(usage as Usage)));
    expect(only(events, "step.retried").map(({ data }) => data.error.status)).toEqual([529]);

    const costs = billed.flatMap(({ model, usage }) => priceCall(model ?? "", usage as Usage) ?? []);
    const cost = microsOf(costs.reduce((sum, one) => sum + exactCost(one).total, 0n));
    expect(generated.map((step) => step.cost)).toEqual(costs);
    const usage = billed.reduce((sum, call) => addUsage(sum, call.usage as Usage), NO_USAGE);
    expect(only(events, "session.completed")[0]?.data).toMatchObject({ usage, cost_micros: cost, unpriced_calls: 0 });
    const [run] = (await host.sessions.runs(sessionId)).items;
    expect(run).toMatchObject({ id: prompted.runId, cost_micros: cost, usage });
    const after = await host.sessions.state(sessionId);
    expect(microsOf(BigInt(after.costPicos) - BigInt(before.costPicos))).toBe(cost);
    expect(after.usage.output_tokens - before.usage.output_tokens).toBe(usage.output_tokens);
    await fixture().sound(prompted);
  });
}

/** Tests drafts: the pieces of a step's answer that a reader gets while the answer is written. */
export function describeDrafts(fixture: () => RuntimeFixture): void {
  test("the joined drafts of a step equal the text in the log, even for a reader who joins in the middle", async () => {
    const { under, host, name } = fixture();
    const sessionId = await fixture().session();
    const pieces: DraftPiece[] = [];
    const late: DraftPiece[] = [];
    const stops = [host.live.subscribe(sessionId, (piece) => pieces.push(piece))];
    const long = "One word after the other. ".repeat(4);
    const prompted = await fixture().prompt(sessionId, [
      { text: "First this.", chunk: 4, tools: [under.calls.effect(name())] },
      { text: long, chunk: 9, chunkDelayMs: 10 },
    ]);
    await until(() => joined(pieces).size === 2 && [...joined(pieces).values()].at(-1) !== long.slice(0, 9));
    stops.push(host.live.subscribe(sessionId, (piece) => late.push(piece)));
    const generated = only(await fixture().ended(prompted), "step.generated").map(({ data }) => data);
    for (const stop of stops) stop();
    expect(generated.map(({ content }) => textOf(content))).toEqual(["First this.", long]);
    expect([...joined(pieces)]).toEqual(generated.map(({ message_id, content }) => [message_id, textOf(content)]));
    expect([...joined(late)]).toEqual([[generated[1]?.message_id, long]]);
    for (const { run_id, step, message_id } of pieces) {
      expect(run_id).toBe(prompted.runId);
      expect(generated.find((fact) => fact.message_id === message_id)?.step).toBe(step);
    }
  });
}

/** Joins the drafts of every message. Fails if a piece is missing. */
function joined(pieces: readonly DraftPiece[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { event_type, data } of pieces.flatMap((piece) => draftsOf([piece]))) {
    if (event_type !== "step.generating") continue;
    const { message_id, offset, delta } = data;
    const text = texts.get(message_id) ?? "";
    expect(offset, "a draft piece begins where the previous piece ended").toBe(text.length);
    texts.set(message_id, text + delta);
  }
  return texts;
}
