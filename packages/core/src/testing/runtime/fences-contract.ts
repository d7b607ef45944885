import { type Event, NO_USAGE, type Usage, addUsage } from "@skein/protocol";
import { expect, test } from "vitest";
import { type Prompted, type RuntimeFixture, only } from "./runtime-fixture.ts";
import { type Loss, losingStore, placesOf } from "./losing-store.ts";
import type { FactPlace, RuntimeExceptions } from "./runtime-under-test.ts";

/** Tests that a run ends correctly if its worker loses the lease after any fact. */
export function describeFences(fixture: () => RuntimeFixture, { everyFact }: RuntimeExceptions): void {
  const steps = (name: string) => [
    { text: "Working.", tools: [fixture().under.calls.effect(name)] },
    { text: "It said: $LAST" },
  ];

  /** Returns the facts that a worker writes in a turn with one tool call and no faults. */
  async function undisturbed(): Promise<readonly FactPlace[]> {
    const prompted = await fixture().run(steps(fixture().name()));
    return placesOf(await fixture().ended(prompted));
  }

  /** Runs a turn with one tool call. The first worker loses the session after a fact, and another worker takes over. */
  async function takenOver(place: FactPlace, loss: Loss): Promise<void> {
    const { under } = fixture();
    const store = await fixture().store();
    const lost = Promise.withResolvers<void>();
    const first = fixture().another(losingStore(store, { place, loss, onLoss: lost.resolve }));
    const { id } = await first.sessions.create(under.agent({}));
    const name = fixture().name();
    const begun = await fixture().prompt(id, steps(name), { host: first });
    await lost.promise;
    const next = fixture().another(store);
    const prompted = { ...begun, host: next };
    await fixture().ended(prompted);
    // The first worker may still be running, but its writes must not be stored.
    await first.stop();
    await expectOneTurn(prompted, name);
    await next.stop();
  }

  /** Checks that the log has one turn with one tool call, however many workers ran the session. */
  async function expectOneTurn(prompted: Prompted, name: string): Promise<void> {
    const { under } = fixture();
    await fixture().sound(prompted);
    const events = await prompted.host.sessions.events(prompted.sessionId);
    const [completed, ...more] = only(events, "session.completed");
    expect(more).toEqual([]);
    expect(only(events, "session.failed")).toEqual([]);
    const [result, ...others] = only(events, "tool.completed");
    expect(others).toEqual([]);
    if (result?.data.outcome === "committed") {
      expect(completed?.data.final_response).toBe(`It said: did ${name}`);
      expect(under.effects(name)).toBe(1);
    } else {
      expect(result?.data).toMatchObject({ outcome: "unknown", is_error: true });
      expect(completed?.data.final_response).toContain("The outcome of this call is unknown");
      expect(under.effects(name)).toBeLessThanOrEqual(1);
    }
    const roles = (await prompted.host.sessions.transcript(prompted.sessionId)).map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "user", "assistant"]);
    expectBilled(events, prompted.label);
  }

  /** Checks that the model billed every answer that the log counts, and that no answer is counted twice. */
  function expectBilled(events: readonly Event[], label: string): void {
    const text = (usage: Usage): string => JSON.stringify(addUsage(NO_USAGE, usage));
    const billed = fixture()
      .under.asked(label)
      .flatMap(({ usage, outcome }) => (usage && outcome !== "faulted" ? [text(usage)] : []));
    for (const { data } of only(events, "step.generated")) {
      const at = billed.indexOf(text(data.usage));
      expect(at, "the model billed this answer of the log").toBeGreaterThanOrEqual(0);
      billed.splice(at, 1);
    }
  }

  if (everyFact)
    for (const place of everyFact.instead)
      test(`a session that is taken over after ${place.join(" ")} of a run with a tool call ends correctly (not after each fact: ${everyFact.reason})`, () =>
        takenOver(place, "told"));
  else
    test.each(["told", "untold"] as const)(
      "a session that is taken over after any single fact of a run with a tool call ends correctly (the first worker is %s)",
      async (loss) => {
        const all = await undisturbed();
        expect(all.length).toBeGreaterThan(10);
        for (const place of all)
          await takenOver(place, loss).catch((error: unknown) => Promise.reject(at(place, error)));
      },
    );
}

function at(place: FactPlace, error: unknown): Error {
  return new Error(`The lease was taken over after ${place.join(" ")}. ${String(error)}`, { cause: error });
}
