import { type Event, KnownError, NO_USAGE, type NewEvent, type Usage, addUsage } from "@skein/protocol";
import { expect, test } from "vitest";
import type { Store } from "../../ports/store.ts";
import { type Prompted, type RuntimeBench, only } from "./bench.ts";
import type { FactPlace, RuntimeExceptions } from "./under-test.ts";

/**
 * How a worker loses its session after a fact. `told`: the append with the fact was answered, so the worker goes on with
 * what it decided, and only its next append is refused. `untold`: the log ends with the fact, and the worker is refused.
 */
type Loss = "told" | "untold";

/** A new fence after a fact: whoever takes the session over ends the run well, whatever was going on. */
export function describeFences(bench: () => RuntimeBench, { everyFact }: RuntimeExceptions): void {
  const steps = (name: string) => [
    { text: "Working.", tools: [bench().under.calls.effect(name)] },
    { text: "It said: $LAST" },
  ];

  /** The facts that the driver writes in a tool turn to which nothing happens. */
  async function undisturbed(): Promise<readonly FactPlace[]> {
    const prompted = await bench().run(steps(bench().name()));
    return places(await bench().ended(prompted));
  }

  /** A tool turn whose worker loses the session after this fact, and another that takes it over. */
  async function takenOver(place: FactPlace, loss: Loss): Promise<void> {
    const { under } = bench();
    const store = await bench().store();
    const lost = Promise.withResolvers<void>();
    const first = bench().another(losing(store, { place, loss, onLoss: lost.resolve }));
    const { id } = await first.sessions.create(under.agent({}));
    const name = bench().name();
    const begun = await bench().prompt(id, steps(name), { host: first });
    await lost.promise;
    const next = bench().another(store);
    const prompted = { ...begun, host: next };
    await bench().ended(prompted);
    // The first worker may still be at it: whatever it does now must not be kept.
    await first.stop();
    await expectOneTurn(prompted, name);
    await next.stop();
  }

  /** One turn with one call, however many workers it took. */
  async function expectOneTurn(prompted: Prompted, name: string): Promise<void> {
    const { under } = bench();
    await bench().sound(prompted);
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

  /** Each answer that the log counts is one that the model billed, and none is counted twice. */
  function expectBilled(events: readonly Event[], label: string): void {
    const text = (usage: Usage): string => JSON.stringify(addUsage(NO_USAGE, usage));
    const billed = bench()
      .under.asked(label)
      .flatMap(({ usage, outcome }) => (usage && outcome !== "faulted" ? [text(usage)] : []));
    for (const { data } of only(events, "step.generated")) {
      const at = billed.indexOf(text(data.usage));
      expect(at, "an answer of the log is one that the model billed").toBeGreaterThanOrEqual(0);
      billed.splice(at, 1);
    }
  }

  if (everyFact)
    for (const place of everyFact.instead)
      test(`a session that is taken over after ${place.join(" ")} of a tool turn ends well (not after each fact: ${everyFact.reason})`, () =>
        takenOver(place, "told"));
  else
    test.each(["told", "untold"] as const)(
      "a session that is taken over after any one fact of a tool turn ends well, the first worker being %s",
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

/** Each fact by its type, and which of that type it is. */
function places(events: readonly { readonly event_type: string }[]): readonly FactPlace[] {
  const seen = new Map<string, number>();
  return events.map(({ event_type }): FactPlace => {
    const nth = (seen.get(event_type) ?? 0) + 1;
    seen.set(event_type, nth);
    return [event_type, nth];
  });
}

/** A store on which one process loses its session after a fact, to a worker that puts it back at once. */
function losing(
  store: Store,
  { place, loss, onLoss }: { readonly place: FactPlace; readonly loss: Loss; readonly onLoss: () => void },
): Store {
  const written: NewEvent[] = [];
  let isLost = false;

  async function takeOver(sessionId: string, owner: string): Promise<void> {
    isLost = true;
    await store.free(owner);
    const claim = await store.claim({ owner: "contract/taker", leaseMs: 60_000, sessionId });
    if (claim.kind !== "leased") throw new Error(`The session could not be taken over: it is ${claim.kind}.`);
    await store.release(claim.lease, { seen: claim.lastSequence, dueAt: Date.now() });
    onLoss();
  }

  return {
    ...store,
    // It would take the session back.
    claim: (options) => (isLost ? Promise.resolve({ kind: "none", nextAt: null }) : store.claim(options)),
    async append(sessionId, events, options) {
      const { lease } = options ?? {};
      const before = written.length;
      if (lease && !isLost) written.push(...events);
      const [type, nth] = place;
      const found = places(written).findIndex((one) => one[0] === type && one[1] === nth);
      if (!lease || isLost || found < before) return store.append(sessionId, events, options);
      if (loss === "told") {
        const appended = await store.append(sessionId, events, options);
        await takeOver(sessionId, lease.owner);
        return appended;
      }
      const { release: _, ...kept } = options ?? {};
      await store.append(sessionId, events.slice(0, found - before + 1), kept);
      await takeOver(sessionId, lease.owner);
      throw new KnownError("lease_lost", "Another worker has this session.");
    },
  };
}

/** How many workers may die of a run, one after the other, before it is given up. */
const PATIENCE = 5;

/** A run that kills its workers. */
export function describePoison(bench: () => RuntimeBench): void {
  /** A session with a prompt that nobody has answered, whose worker and so many after it died without a word. */
  async function dying(times: number): Promise<Prompted> {
    const { under } = bench();
    const store = await bench().store();
    const lost = Promise.withResolvers<void>();
    const place: FactPlace = ["message.created", 1];
    const first = bench().another(losing(store, { place, loss: "untold", onLoss: lost.resolve }));
    const { id } = await first.sessions.create(under.agent({}));
    const begun = await bench().prompt(id, [{ text: "At last." }], { host: first });
    await lost.promise;
    await first.stop();
    for (let n = 1; n <= times; n++) {
      const owner = `contract/dying/${n}`;
      const claim = await store.claim({ owner, leaseMs: 60_000, sessionId: id });
      if (claim.kind !== "leased") throw new Error(`The session could not be claimed: it is ${claim.kind}.`);
      const { lease } = claim;
      const data = { run_id: begun.runId, fence: lease.fence };
      await store.append(id, [{ id: crypto.randomUUID(), event_type: "run.resumed", data }], { lease });
      await store.free(owner);
    }
    return { ...begun, host: bench().another(store) };
  }

  test("a run that was taken up a few times without getting further is taken up once more, and ends well", async () => {
    const prompted = await dying(PATIENCE - 1);
    expect(await bench().answer(prompted)).toBe("At last.");
    await bench().sound(prompted);
    await prompted.host.stop();
  });

  test("a run that was taken up too often without getting further is given up, and the session goes on", async () => {
    const prompted = await dying(PATIENCE + 1);
    const { under } = bench();
    const before = under.asked(prompted.label).length;
    expect(only(await bench().ended(prompted), "session.failed")[0]?.data).toMatchObject({
      outcome: "failed",
      stop_reason: "poisoned",
      error: { code: "poisoned" },
    });
    expect(under.asked(prompted.label)).toHaveLength(before);
    const next = await bench().prompt(prompted.sessionId, [{ text: "Here again." }], { host: prompted.host });
    expect(await bench().answer(next)).toBe("Here again.");
    await bench().sound(prompted);
    await prompted.host.stop();
  });
}
