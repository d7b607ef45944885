import { type DraftPiece, textOf } from "@skein/protocol";
import { expect, test } from "vitest";
import { type Prompted, type RuntimeFixture, only, until } from "./runtime-fixture.ts";

/** Tests cancels at different points of a run. The session must work afterwards. */
export function describeCancels(fixture: () => RuntimeFixture): void {
  /** Checks that the run ended as cancelled and the session answers the next prompt. */
  async function expectCancelled(prompted: Prompted, reason: string): Promise<void> {
    const [failed] = only(await fixture().ended(prompted), "session.failed");
    expect(failed?.data).toMatchObject({ outcome: "cancelled", stop_reason: "cancelled" });
    expect(failed?.data.error).toMatchObject({ code: "cancelled", message: reason });
    expect(await fixture().answer(await fixture().prompt(prompted.sessionId, [{ text: "Next." }]))).toBe("Next.");
    await fixture().sound(prompted);
  }

  test("a cancel ends a run during a tool call: the call gets one result, and is not repeated", async () => {
    const { under, host, name } = fixture();
    const effect = name();
    const prompted = await fixture().run([{ tools: [under.calls.held(effect)] }, { text: "Never." }]);
    await until(() => under.effects(effect) > 0);
    await host.sessions.cancel(prompted.sessionId, { reason: "Enough." });
    await expectCancelled(prompted, "Enough.");
    const completed = only(await fixture().ended(prompted), "tool.completed");
    expect(completed.map(({ data }) => data.is_error)).toEqual([true]);
    expect(under.effects(effect)).toBe(1);
    expect(under.asked(prompted.label)).toHaveLength(1);
  });

  test("a cancel ends a run whose model is silent, and ends the request to the model", async () => {
    const { under, host } = fixture();
    const prompted = await fixture().run([{ text: "Never.", hang: true }]);
    await until(() => under.asked(prompted.label).length > 0);
    await host.sessions.cancel(prompted.sessionId, { reason: "Too slow." });
    await expectCancelled(prompted, "Too slow.");
    await until(() => under.asked(prompted.label).every(({ outcome }) => outcome === "aborted"));
  });

  test("a cancel in the middle of an answer keeps the text that had arrived, and counts the reported input tokens and the estimated output tokens", async () => {
    const { under, host } = fixture();
    const text = "Once upon a time. ".repeat(40);
    const sessionId = await fixture().session();
    const deltas: DraftPiece[] = [];
    const stop = host.live.subscribe(sessionId, (piece) => {
      if (piece.event.type === "content_block_delta") deltas.push(piece);
    });
    const prompted = await fixture().prompt(sessionId, [{ text, chunk: 6, chunkDelayMs: 40 }]);
    await until(() => deltas.length > 3);
    stop();
    await host.sessions.cancel(prompted.sessionId, { reason: "Enough." });
    await expectCancelled(prompted, "Enough.");
    const [lost] = only(await fixture().ended(prompted), "step.abandoned");
    const [call] = under.asked(prompted.label);
    expect(lost?.data).toMatchObject({ reason: "cancelled", estimated: true, interrupted: true });
    expect(lost?.data.usage.input_tokens).toBe(call?.usage?.input_tokens);
    const said = textOf(lost?.data.content ?? []);
    expect(said.length).toBeGreaterThan(0);
    expect(text.startsWith(said)).toBe(true);
    expect(lost?.data.usage.output_tokens).toBe(Math.floor(said.length / 4));
    const transcript = await host.sessions.transcript(prompted.sessionId);
    expect(transcript.filter(({ interrupted }) => interrupted).at(-1)?.content).toEqual(lost?.data.content);
  });

  test("a run that is cancelled in the queue never starts, and the other runs start", async () => {
    const { under, host, name } = fixture();
    const effect = name();
    const first = await fixture().run([{ tools: [under.calls.held(effect)] }, { text: "First." }]);
    await until(() => under.effects(effect) > 0);
    const cancelled = await fixture().prompt(first.sessionId, [{ text: "Never." }]);
    const last = await fixture().prompt(first.sessionId, [{ text: "Last." }]);
    await host.sessions.cancel(first.sessionId, { runId: cancelled.runId });
    under.go(effect);
    expect(await fixture().answer(first)).toBe("First.");
    expect(await fixture().answer(last)).toBe("Last.");
    expect(under.asked(cancelled.label)).toEqual([]);
    const events = await host.sessions.events(first.sessionId);
    expect(only(events, "session.started").map(({ data }) => data.run_id)).not.toContain(cancelled.runId);
    await fixture().sound(first);
  });

  test("a cancel while the run waits for a person closes the question, and a later answer is stale", async () => {
    const { under, host, name } = fixture();
    const effects = [name(), name()];
    const prompted = await fixture().run([{ tools: effects.map(under.calls.effect) }, { text: "Never." }], {
      agent: { asks: true },
    });
    const waiting = await until(async () => (await host.store.awaits(prompted.sessionId))[0]);
    await host.sessions.cancel(prompted.sessionId, { reason: "Nobody is here." });
    await expectCancelled(prompted, "Nobody is here.");
    const events = await fixture().ended(prompted);
    expect(new Set(only(events, "await.resolved").map(({ data }) => data.resolution))).toEqual(new Set(["cancelled"]));
    expect(only(events, "tool.completed").map(({ data }) => data.is_error)).toEqual([true, true]);
    expect(await host.store.awaits(prompted.sessionId)).toEqual([]);
    const late = await host.sessions.answer(prompted.sessionId, waiting.tool_use_id, { content: "yes" });
    expect(late).toMatchObject({ disposition: "stale" });
    expect(effects.map(under.effects)).toEqual([0, 0]);
  });
}

/** Tests prompts that arrive while a run is in progress. */
export function describeModes(fixture: () => RuntimeFixture): void {
  /** Starts a run and waits until its tool call is in progress. `go` ends the call. */
  async function working() {
    const { under, name } = fixture();
    const effect = name();
    const prompted = await fixture().run([
      { text: "Working.", tools: [under.calls.held(effect)] },
      { text: "It $LAST" },
    ]);
    await until(() => under.effects(effect) > 0);
    return { prompted, sessionId: prompted.sessionId, effect, go: () => under.go(effect) };
  }

  const outcomes = async (sessionId: string, since: string) => {
    const runs = (await fixture().host.sessions.runs(sessionId)).items.toReversed();
    return runs.slice(runs.findIndex(({ id }) => id === since)).map(({ id, outcome }) => [id, outcome]);
  };

  test("prompts that are queued during a run are answered one after the other, in the order of acceptance", async () => {
    const { sessionId, prompted, go } = await working();
    const queued = [];
    for (const text of ["One.", "Two.", "Three."]) queued.push(await fixture().prompt(sessionId, [{ text }]));
    go();
    const answers = [];
    for (const one of queued) answers.push(await fixture().answer(one));
    expect(answers).toEqual(["One.", "Two.", "Three."]);
    expect(await outcomes(sessionId, prompted.runId)).toEqual(
      [prompted, ...queued].map(({ runId }) => [runId, "completed"]),
    );
    await fixture().sound(prompted);
  });

  test("a steering prompt is read once by the run in progress, after the result of the call that the run has made", async () => {
    const { under, host } = fixture();
    const { sessionId, prompted, effect, go } = await working();
    const sentence = `Use the red yarn for ${effect}.`;
    const steer = await host.sessions.prompt(sessionId, { content: sentence, mode: "steer" });
    const { hasInHand } = under;
    if (hasInHand) await until(async () => hasInHand(await host.sessions.events(sessionId), sentence));
    go();
    expect(await fixture().answer(prompted)).toBe(`It did ${effect}`);
    const entered = only(await fixture().ended(prompted), "message.created").map(({ data }) => data);
    expect(entered.map(({ message_id, role }) => (message_id === steer.messageId ? "steer" : role))).toEqual([
      "user",
      "assistant",
      "user",
      "steer",
      "assistant",
    ]);
    const last = JSON.stringify(under.asked(prompted.label).at(-1)?.request);
    expect(last.split(sentence)).toHaveLength(2);
    const { queue, run } = await host.sessions.state(sessionId);
    expect([queue, run]).toEqual([[], null]);
    const next = await fixture().prompt(sessionId, [{ text: "Red it is." }]);
    expect(await fixture().answer(next)).toBe("Red it is.");
    expect(JSON.stringify(under.asked(next.label)[0]?.request).split(sentence)).toHaveLength(2);
    await fixture().sound(prompted);
  });

  test("a steering prompt that arrives during the last answer is answered in the same run or in a new run", async () => {
    const { host } = fixture();
    const long = { text: "Word. ".repeat(10), chunk: 6, chunkDelayMs: 60 };
    const prompted = await fixture().run([long, { text: "And this." }]);
    await until(() => fixture().under.asked(prompted.label).length > 0);
    const steer = await fixture().prompt(prompted.sessionId, [{ text: "And this." }], { mode: "steer" });
    await fixture().ended(prompted);
    await until(async () => {
      const { run, queue, transcript } = await host.sessions.state(prompted.sessionId);
      return !run && queue.length === 0 && textOf(transcript.at(-1)?.content ?? "") === "And this.";
    });
    const transcript = await host.sessions.transcript(prompted.sessionId);
    expect(transcript.filter(({ id }) => id === steer.messageId)).toHaveLength(1);
    await fixture().sound(prompted);
  });

  test("a steering prompt to an idle session starts a run like any other prompt", async () => {
    const sessionId = await fixture().session();
    const prompted = await fixture().prompt(sessionId, [{ text: "Here." }], { mode: "steer" });
    expect(await fixture().answer(prompted)).toBe("Here.");
    await fixture().sound(prompted);
  });

  test("an interrupting prompt ends the run in progress, and is answered before waiting prompts", async () => {
    const { under } = fixture();
    const { sessionId, prompted, effect } = await working();
    const queued = await fixture().prompt(sessionId, [{ text: "Queued." }]);
    const interrupting = await fixture().prompt(sessionId, [{ text: "Now." }], { mode: "interrupt" });
    expect(await fixture().answer(interrupting)).toBe("Now.");
    expect(await fixture().answer(queued)).toBe("Queued.");
    expect(await outcomes(sessionId, prompted.runId)).toEqual([
      [prompted.runId, "cancelled"],
      [interrupting.runId, "completed"],
      [queued.runId, "completed"],
    ]);
    expect(under.effects(effect)).toBe(1);
    await fixture().sound(prompted);
  });
}
