import { expect, test } from "vitest";
import type { Store } from "../../ports/store.ts";
import { type Prompted, type RuntimeFixture, only, until } from "./runtime-fixture.ts";
import { losingStore } from "./losing-store.ts";
import type { AgentUnderTest, FactPlace, ModelStep } from "./runtime-under-test.ts";

/** The most takeovers in a row without progress. After one more takeover, the run ends as poisoned. */
const PATIENCE = 5;

/** A run whose first worker died right after a fact. */
interface Interrupted {
  readonly steps: readonly ModelStep[];
  readonly after: FactPlace;
  readonly agent?: AgentUnderTest;
  /** What somebody answers after the crash, if the run waits for an answer. */
  readonly answer?: string;
}

/** Tests a run that crashes its workers. */
export function describePoison(fixture: () => RuntimeFixture): void {
  const beforeTheModel: Interrupted = { steps: [{ text: "At last." }], after: ["message.created", 1] };
  const calling = (name: string): readonly ModelStep[] => [
    { text: "Working.", tools: [fixture().under.calls.effect(name)] },
    { text: "At last." },
  ];

  /** Starts a run whose first worker dies after a fact. Then `times` workers take over the run without progress. */
  async function dying(times: number, { steps, after, agent = {}, answer }: Interrupted): Promise<Prompted> {
    const { under } = fixture();
    const store = await fixture().store();
    const lost = Promise.withResolvers<void>();
    const first = fixture().another(losingStore(store, { place: after, loss: "untold", onLoss: lost.resolve }));
    const { id } = await first.sessions.create(under.agent(agent));
    const begun = await fixture().prompt(id, steps, { host: first });
    await lost.promise;
    await first.stop();
    if (answer !== undefined)
      for (const { tool_use_id } of await store.awaits(id))
        await first.sessions.answer(id, tool_use_id, { content: answer });
    for (let n = 1; n <= times; n++) await takeUpAndDie(store, begun, `contract/dying/${n}`);
    return { ...begun, host: fixture().another(store) };
  }

  async function expectGivenUp(prompted: Prompted): Promise<void> {
    const { under } = fixture();
    const before = under.asked(prompted.label).length;
    expect(only(await fixture().ended(prompted), "session.failed")[0]?.data).toMatchObject({
      outcome: "failed",
      stop_reason: "poisoned",
      error: { code: "poisoned" },
    });
    expect(under.asked(prompted.label)).toHaveLength(before);
    const next = await fixture().prompt(prompted.sessionId, [{ text: "Here again." }], { host: prompted.host });
    expect(await fixture().answer(next)).toBe("Here again.");
    await fixture().sound(prompted);
    await prompted.host.stop();
  }

  test("a run that was resumed a few times without progress is resumed once more, and completes", async () => {
    const prompted = await dying(PATIENCE - 1, beforeTheModel);
    expect(await fixture().answer(prompted)).toBe("At last.");
    await fixture().sound(prompted);
    await prompted.host.stop();
  });

  test("a run that was resumed too often without progress ends as poisoned, and the session continues", async () =>
    expectGivenUp(await dying(PATIENCE + 1, beforeTheModel)));

  test("a run that was resumed too often ends as poisoned, and its open tool call gets a result", async () => {
    const name = fixture().name();
    const prompted = await dying(PATIENCE + 1, { steps: calling(name), after: ["tool.started", 1] });
    await expectGivenUp(prompted);
    const results = only(await prompted.host.sessions.events(prompted.sessionId), "tool.completed");
    expect(results.map(({ data }) => data.is_error)).toEqual([true]);
    expect(fixture().under.effects(name)).toBeLessThanOrEqual(1);
  });

  test("a run that was resumed too often after a person's answer ends as poisoned", async () => {
    const name = fixture().name();
    const prompted = await dying(PATIENCE + 1, {
      steps: calling(name),
      after: ["await.opened", 1],
      agent: { asks: true },
      answer: "yes",
    });
    await expectGivenUp(prompted);
    expect(await prompted.host.store.awaits(prompted.sessionId)).toEqual([]);
    expect(fixture().under.effects(name)).toBe(0);
    // The worker that lost the session did not call the model again.
    expect(fixture().under.asked(prompted.label)).toHaveLength(1);
  });

  test("prompts that arrive while a run waits for an answer do not make the run poisoned", async () => {
    const { host, under } = fixture();
    const waiting = await fixture().run([{ tools: [under.calls.question("Which one?")] }, { text: "So: $LAST" }]);
    const { sessionId } = waiting;
    const [asked] = await until(async () => {
      const awaits = await host.store.awaits(sessionId);
      return awaits.length > 0 ? awaits : undefined;
    });
    for (let n = 1; n <= PATIENCE + 2; n++) {
      await fixture().prompt(sessionId, [{ text: `Answer ${n}.` }]);
      // A worker claims the session and releases it in this time.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await host.sessions.answer(sessionId, asked?.tool_use_id ?? "", { content: "the red one" });
    expect(await fixture().answer(waiting)).toContain("the red one");
    await fixture().sound(waiting);
  });
}

/** Lets a worker take over the run and die before it writes another fact. */
async function takeUpAndDie(store: Store, { sessionId, runId }: Prompted, owner: string): Promise<void> {
  const claim = await store.claim({ owner, leaseMs: 60_000, sessionId });
  if (claim.kind !== "leased") throw new Error(`The session could not be claimed: it is ${claim.kind}.`);
  const { lease } = claim;
  const data = { run_id: runId, fence: lease.fence };
  await store.append(sessionId, [{ id: crypto.randomUUID(), event_type: "run.resumed", data }], { lease });
  await store.free(owner);
}
