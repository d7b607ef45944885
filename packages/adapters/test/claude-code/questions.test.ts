/**
 * Claude Code's requests for permission and its questions. A person's answer comes through the session's log, in the
 * same run.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Store, createMemoryStore } from "@skein/core";
import { type World, claudeAgent, createWorld, isAlive, only, play, spawning, until } from "./world.ts";

const DATABASES = {
  questions: [
    {
      question: "Which database?",
      header: "db",
      multiSelect: false,
      options: [
        { label: "PG", description: "A server." },
        { label: "SQLite", description: "A file." },
      ],
    },
  ],
};

const asksFor = (command: string, ...more: string[]): string =>
  play(
    {
      text: "May I?",
      tools: [command, ...more].map((one) => ({ name: "Bash", input: { command: one } })),
    },
    { text: "So: $LAST" },
  );

async function begin(world: World, prompt: string, options: Record<string, unknown> = {}) {
  const { sessionId, runId } = await world.sessions.begin(claudeAgent({ cwd: world.cwd, ...options }), prompt);
  const waiting = await until(async () => (await world.store.awaits(sessionId))[0]);
  return { sessionId, runId, toolUseId: waiting.tool_use_id, waiting };
}

test("a call that needs permission runs after the answer allow, and after deny the model is told the reason", async () => {
  const world = await createWorld();
  const { sessionId, runId, toolUseId, waiting } = await begin(world, asksFor("touch allowed; echo yes-it-ran"));
  expect(waiting).toMatchObject({
    kind: "approval",
    name: "Bash",
    input: { command: "touch allowed; echo yes-it-ran" },
  });
  expect((await world.sessions.get(sessionId)).status).toBe("awaiting");
  expect(existsSync(join(world.cwd, "allowed"))).toBe(false);
  const { disposition } = await world.sessions.answer(sessionId, toolUseId, { content: "allow" });
  expect(disposition).toBe("accepted");
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toBe("So: yes-it-ran");
  expect(existsSync(join(world.cwd, "allowed"))).toBe(true);
  expect(only(events, "await.resolved").map(({ data }) => data.resolution)).toEqual(["answered"]);

  const accepted = await world.sessions.prompt(sessionId, asksFor("touch denied"));
  const second = await until(async () => (await world.store.awaits(sessionId))[0]);
  await world.sessions.answer(sessionId, second.tool_use_id, {
    content: JSON.stringify({ behavior: "deny", message: "Not on a Sunday." }),
  });
  const denied = await world.ended(sessionId, accepted.runId);
  expect(only(denied, "tool.completed")[0]?.data).toMatchObject({ is_error: true });
  expect(JSON.stringify(world.requests().at(-1)?.["messages"])).toContain("Not on a Sunday.");
  expect(existsSync(join(world.cwd, "denied"))).toBe(false);

  const third = await world.sessions.prompt(sessionId, asksFor("touch first"));
  const asked = await until(async () => (await world.store.awaits(sessionId))[0]);
  await world.sessions.answer(sessionId, asked.tool_use_id, {
    content: JSON.stringify({ behavior: "allow", updatedInput: { command: "touch changed" } }),
  });
  await world.ended(sessionId, third.runId);
  expect([existsSync(join(world.cwd, "first")), existsSync(join(world.cwd, "changed"))]).toEqual([false, true]);
}, 120_000);

test("AskUserQuestion gets its answers, and its tool_use stays in the assistant's message", async () => {
  const world = await createWorld();
  const prompt = play(
    { text: "I wonder.", tools: [{ name: "AskUserQuestion", input: DATABASES }] },
    { text: "Then $LAST" },
  );
  const { sessionId, runId, toolUseId, waiting } = await begin(world, prompt);
  expect(waiting).toMatchObject({ kind: "question", name: "AskUserQuestion" });
  await world.sessions.answer(sessionId, toolUseId, {
    content: JSON.stringify({ answers: { "Which database?": "PG" } }),
  });
  const events = await world.ended(sessionId, runId);
  expect(only(events, "session.completed")[0]?.data.final_response).toContain('"Which database?"="PG"');
  const transcript = await world.sessions.transcript(sessionId);
  expect(transcript[1]?.content).toMatchObject([
    { type: "text", text: "I wonder." },
    { type: "tool_use", id: toolUseId },
  ]);
}, 120_000);

/** Waits until the lease of the session is released. Until then, the session cannot be claimed. */
async function givenBack(store: Store, sessionId: string): Promise<void> {
  await until(async () => {
    const claim = await store.claim({ owner: "a test", leaseMs: 1000, sessionId });
    if (claim.kind === "leased") await store.release(claim.lease, { seen: claim.lastSequence, dueAt: null });
    return claim.kind === "leased";
  });
}

const APPROVAL = asksFor("echo late >> ran", "echo two >> ran");

test.each([
  ["an approval", APPROVAL, "allow", "So: "],
  [
    "a question",
    play({ text: "I wonder.", tools: [{ name: "AskUserQuestion", input: DATABASES }] }, { text: "So: $LAST" }),
    "SQLite",
    'So: Your questions have been answered: "Which database?"="SQLite"',
  ],
])(
  "%s that waits long for its answer keeps no process, and the answer continues the same run on any machine",
  async (_, prompt, answer, said) => {
    const store = createMemoryStore();
    const here = await createWorld({ store, parkAfterMs: 300 });
    const { sessionId, runId, toolUseId } = await begin(here, prompt);
    await givenBack(store, sessionId);
    expect((await here.sessions.get(sessionId)).status).toBe("awaiting");
    await here.stop();
    const there = await createWorld({ store });
    await there.sessions.answer(sessionId, toolUseId, { content: answer });
    const events = await there.ended(sessionId, runId);
    expect(only(events, "session.completed")[0]?.data.final_response).toContain(said);
    expect(only(events, "session.started")).toHaveLength(1);
    expect(only(events, "await.opened")).toHaveLength(1);
    expect(only(events, "await.resolved").map(({ data }) => data.resolution)).toEqual(["answered"]);
    const { run, transcript } = await there.sessions.state(sessionId);
    expect(run).toBeNull();
    expect(transcript.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    if (prompt.startsWith(APPROVAL)) expect(readFileSync(join(here.cwd, "ran"), "utf8")).toBe("late\n");
    expect(there.problems).toEqual([]);
  },
  120_000,
);

const asking = (question: string) => ({
  name: "AskUserQuestion",
  input: { questions: [{ ...DATABASES.questions[0], question }] },
});
const fetching = (page: string) => ({
  name: "WebFetch",
  input: { url: `https://nowhere.invalid/${page}`, prompt: "?" },
});

test.each([
  ["two questions", [asking("Which yarn?"), asking("Which loom?")], ["Red", "The old one"], ["Red", "The old one"]],
  [
    "a permission and a question",
    [fetching("one"), asking("Which yarn?")],
    ["no, not that one", "Red"],
    ["not that one", "Red"],
  ],
])(
  "%s that wait long at the same time keep no process, and the run continues when all are answered",
  async (_, tools, answers, told) => {
    const store = createMemoryStore();
    const pids: number[] = [];
    const world = await createWorld({ store, parkAfterMs: 500, ...spawning(pids) });
    const prompt = play({ text: "I wonder.", tools }, { text: "Done." });
    const { sessionId, runId } = await world.sessions.begin(claudeAgent({ cwd: world.cwd }), { content: prompt });
    await until(async () => (await store.awaits(sessionId)).length === 2);
    await until(() => !isAlive(pids[0]));
    expect((await world.sessions.get(sessionId)).status).toBe("awaiting");
    const [first, second] = await store.awaits(sessionId);
    await world.sessions.answer(sessionId, first?.tool_use_id ?? "", { content: answers[0] ?? "" });
    await givenBack(store, sessionId);
    expect((await world.sessions.get(sessionId)).status).toBe("awaiting");
    expect(pids).toHaveLength(1);
    await world.sessions.answer(sessionId, second?.tool_use_id ?? "", { content: answers[1] ?? "" });
    const events = await world.ended(sessionId, runId);
    expect(only(events, "session.completed")[0]?.data.final_response).toBe("Done.");
    expect(only(events, "await.opened").flatMap(({ data }) => data.awaits)).toHaveLength(2);
    expect(only(events, "await.resolved").map(({ data }) => data.resolution)).toEqual(["answered", "answered"]);
    const results = JSON.stringify(world.requests().at(-1)?.["messages"]);
    for (const word of told) expect(results).toContain(word);
    const { transcript } = await world.sessions.state(sessionId);
    expect(transcript.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(world.problems).toEqual([]);
  },
  120_000,
);
