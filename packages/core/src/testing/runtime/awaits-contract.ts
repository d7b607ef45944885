import { type Await, type JsonObject, textOf } from "@skein/protocol";
import { expect, test } from "vitest";
import { withReason } from "../store-fixture.ts";
import { type Host, type Prompted, type RuntimeFixture, only, until } from "./runtime-fixture.ts";
import type { AgentUnderTest, ScriptedCall, RuntimeExceptions } from "./runtime-under-test.ts";

/** Something that a session waits for, and what the model reads when somebody has answered. */
interface Case {
  readonly kind: Await["kind"];
  readonly agent: AgentUnderTest;
  readonly call: (name: string) => ScriptedCall;
  readonly answer: string;
  /** A text that the model's last answer must contain. */
  readonly told: (name: string) => string;
  /** How often the tool must have taken effect by the end. */
  readonly effects: number;
}

/**
 * Tests awaits: questions, approvals and frontend tools for which a run waits. The answer arrives in the same process,
 * in the next process, or while no process runs.
 */
export function describeAwaits(fixture: () => RuntimeFixture, cannot: RuntimeExceptions): void {
  const cases: readonly (Case & { readonly cannot?: string | undefined })[] = [
    {
      kind: "approval",
      agent: { asks: true },
      call: (name) => fixture().under.calls.effect(name),
      answer: "yes",
      told: (name) => `So: did ${name}`,
      effects: 1,
    },
    {
      kind: "question",
      agent: {},
      call: (name) => fixture().under.calls.question(`Which yarn for ${name}?`),
      answer: "The red one",
      told: () => "The red one",
      effects: 0,
    },
    {
      kind: "frontend_tool",
      agent: {},
      call: (name) => fixture().under.calls.frontend?.(name) ?? { name },
      answer: "picked",
      told: () => "So: picked",
      effects: 0,
      cannot: cannot.frontend,
    },
  ];

  const open = (host: Host, sessionId: string): Promise<Await> =>
    until(async () => (await host.store.awaits(sessionId))[0]);

  /** Checks that the run continued where it stopped, with one start, one await and one answer. */
  async function expectContinued(prompted: Prompted, name: string, one: Case): Promise<void> {
    const events = await fixture().ended(prompted);
    expect(only(events, "session.completed")[0]?.data.final_response).toContain(one.told(name));
    expect(only(events, "session.started")).toHaveLength(1);
    expect(only(events, "await.opened").flatMap(({ data }) => data.awaits)).toHaveLength(1);
    expect(only(events, "await.resolved").map(({ data }) => data.resolution)).toEqual(["answered"]);
    expect(only(events, "tool.completed").map(({ data }) => data.is_error)).toEqual([false]);
    expect(fixture().under.effects(name)).toBe(one.effects);
    expect(await prompted.host.store.awaits(prompted.sessionId)).toEqual([]);
    await fixture().sound(prompted);
  }

  for (const one of cases) {
    const steps = (name: string) => [{ text: "May I?", tools: [one.call(name)] }, { text: "So: $LAST" }];

    test.skipIf(one.cannot)(
      withReason(`a run waits for its ${one.kind}, and continues with the answer`, one.cannot),
      async () => {
        const { host } = fixture();
        const name = fixture().name();
        const prompted = await fixture().run(steps(name), { agent: one.agent });
        const { tool_use_id, ...waiting } = await open(host, prompted.sessionId);
        const asked = one.call(name);
        expect(waiting).toMatchObject({ kind: one.kind, name: asked.name, input: asked.input });
        expect(await host.sessions.get(prompted.sessionId)).toMatchObject({
          status: "awaiting",
          run_id: prompted.runId,
        });
        expect(fixture().under.effects(name)).toBe(0);
        const { disposition } = await host.sessions.answer(prompted.sessionId, tool_use_id, { content: one.answer });
        expect(disposition).toBe("accepted");
        await expectContinued(prompted, name, one);
      },
    );

    test.skipIf(one.cannot)(
      withReason(`an answer to the ${one.kind} of a stopped process continues the run in the next process`, one.cannot),
      async () => {
        const { under } = fixture();
        const name = fixture().name();
        const store = await fixture().store();
        const first = fixture().another(store);
        const { id } = await first.sessions.create(under.agent(one.agent));
        const prompted = await fixture().prompt(id, steps(name), { host: first });
        const { tool_use_id } = await open(first, id);
        await first.stop();
        expect(await first.sessions.get(id)).toMatchObject({ status: "awaiting", run_id: prompted.runId });
        // The question is answered while no process runs the session. The other two awaits are answered when the next
        // process has started.
        const isEarly = one.kind === "question";
        const answered = () => first.sessions.answer(id, tool_use_id, { content: one.answer });
        if (isEarly) await answered();
        const next = fixture().another(store);
        if (!isEarly) await answered();
        await expectContinued({ ...prompted, host: next }, name, one);
        await next.stop();
      },
    );
  }

  test("a tool call that a person denies has no effect, and the model is told why", async () => {
    const { under, host } = fixture();
    const name = fixture().name();
    const prompted = await fixture().run([{ tools: [under.calls.effect(name)] }, { text: "So: $LAST" }], {
      agent: { asks: true },
    });
    const { tool_use_id } = await open(host, prompted.sessionId);
    await host.sessions.answer(prompted.sessionId, tool_use_id, { content: "Not on a Friday.", isError: true });
    expect(await fixture().answer(prompted)).toContain("Not on a Friday.");
    const [completed] = only(await fixture().ended(prompted), "tool.completed");
    expect(completed?.data).toMatchObject({ is_error: true });
    expect(under.effects(name)).toBe(0);
    await fixture().sound(prompted);
  });

  test("if a person approves a call and changes its input, the call runs with the changed input", async () => {
    const { under, host } = fixture();
    const [asked, approved] = [fixture().name(), fixture().name()];
    const prompted = await fixture().run([{ tools: [under.calls.effect(asked)] }, { text: "So: $LAST" }], {
      agent: { asks: true },
    });
    const { tool_use_id } = await open(host, prompted.sessionId);
    const updatedInput = under.calls.effect(approved).input as JsonObject;
    await host.sessions.answer(prompted.sessionId, tool_use_id, { content: "yes", updatedInput });
    expect(await fixture().answer(prompted)).toContain(`did ${approved}`);
    expect([under.effects(asked), under.effects(approved)]).toEqual([0, 1]);
    await fixture().sound(prompted);
  });

  test("a run with two questions continues when both have their answers", async () => {
    const { under, host } = fixture();
    const tools = ["Which yarn?", "Which loom?"].map(under.calls.question);
    const prompted = await fixture().run([{ tools }, { text: "Done." }]);
    const { sessionId } = prompted;
    for (const answer of ["Red", "The old one"]) {
      const { tool_use_id } = await open(host, sessionId);
      expect((await host.sessions.get(sessionId)).run_id).toBe(prompted.runId);
      await host.sessions.answer(sessionId, tool_use_id, { content: answer });
      await until(async () => (await host.store.awaits(sessionId)).every((still) => still.tool_use_id !== tool_use_id));
    }
    const events = await fixture().ended(prompted);
    expect(only(events, "session.completed")[0]?.data.final_response).toBe("Done.");
    const results = only(events, "tool.completed").toSorted((a, b) => a.data.part - b.data.part);
    expect(results.map(({ data }) => textOf(data.content))).toEqual([
      expect.stringContaining("Red"),
      expect.stringContaining("The old one"),
    ]);
    await fixture().sound(prompted);
  });

  test("a prompt that is queued while a question is open gets its own run afterwards, and an interrupting prompt ends the waiting run", async () => {
    const { under, host } = fixture();
    const prompted = await fixture().run([{ tools: [under.calls.question("Which yarn?")] }, { text: "So: $LAST" }]);
    const { sessionId } = prompted;
    const { tool_use_id } = await open(host, sessionId);
    const queued = await fixture().prompt(sessionId, [
      { tools: [under.calls.question("And the loom?")] },
      { text: "?" },
    ]);
    await host.sessions.answer(sessionId, tool_use_id, { content: "Red" });
    expect(await fixture().answer(prompted)).toContain("Red");
    const second = await open(host, sessionId);
    expect(second.tool_use_id).not.toBe(tool_use_id);
    const interrupting = await fixture().prompt(sessionId, [{ text: "Never mind." }], { mode: "interrupt" });
    expect(await fixture().answer(interrupting)).toBe("Never mind.");
    expect(only(await fixture().ended(queued), "session.failed")[0]?.data.outcome).toBe("cancelled");
    const late = await host.sessions.answer(sessionId, second.tool_use_id, { content: "Old" });
    expect(late).toMatchObject({ disposition: "stale" });
    await fixture().sound(prompted);
  });
}
