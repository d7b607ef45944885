import { randomInt } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { standardTools } from "skein";
import { expect, test } from "vitest";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";
import { eventsOf, folder, until } from "../../core/test/loop/world.ts";

test("an agent with the standard tools does real work in its folder", async () => {
  const place = folder();
  const { agent, simulator } = await simulatedAgent({ tools: await standardTools({ folder: place }) });
  const result = await agent.run(
    scripted("Work", [
      { tools: [{ name: "TodoWrite", input: { todos: "- [ ] write\n- [ ] change" } }] },
      { tools: [{ name: "Write", input: { file_path: "src/hello.txt", content: "Hello\nwrold\n" } }] },
      {
        tools: [
          { name: "Edit", input: { file_path: "src/hello.txt", old_string: "wrold", new_string: "world" } },
          { name: "Bash", input: { command: "ls src" } },
        ],
      },
      { tools: [{ name: "Grep", input: { pattern: "w.rld", output_mode: "content" } }] },
      { text: "Found: $LAST" },
    ]),
  );
  expect(result).toMatchObject({ error: null, finalAnswer: "Found: src/hello.txt:2:world" });
  expect(readFileSync(join(place, "src/hello.txt"), "utf8")).toBe("Hello\nworld\n");
  expect(simulator.ledger.totals().outcomes.rejected).toBe(0);
  const policies = (await eventsOf(agent, result.sessionId, "tool.started")).map(({ data }) => [
    data.name,
    data.policy,
  ]);
  expect(policies).toContainEqual(["Bash", "once"]);
  expect(policies).toContainEqual(["Grep", "repeatable"]);
});

test("if a tool refuses a call, the result says why, and the run continues", async () => {
  const place = folder();
  writeFileSync(join(place, "a.txt"), "x");
  const { agent } = await simulatedAgent({ tools: await standardTools({ folder: place }) });
  const result = await agent.run(
    scripted("Refused", [
      {
        tools: [
          { name: "Read", input: { file_path: "../../etc/passwd" } },
          { name: "Read", input: { path: "a.txt" } },
          { name: "WebFetch", input: { url: "http://169.254.169.254/latest/meta-data" } },
          { name: "Bash", input: { command: "exit 7" } },
        ],
      },
      { text: "I see." },
    ]),
  );
  expect(result).toMatchObject({ error: null, finalAnswer: "I see." });
  const said = (await eventsOf(agent, result.sessionId, "tool.completed")).map(({ data }) =>
    JSON.stringify(data.content),
  );
  expect(said).toEqual(
    expect.arrayContaining([
      expect.stringContaining("outside the folder"),
      expect.stringContaining("does not fit the tool's schema"),
      expect.stringContaining("not an address of the public internet"),
      expect.stringContaining("Exit code 7"),
    ]),
  );
});

test("a cancel ends a running command and its child processes within a second", async () => {
  const place = folder();
  const { agent } = await simulatedAgent({ tools: await standardTools({ folder: place }) });
  const stop = new AbortController();
  const seconds = `60.${randomInt(1e9, 9e9)}`;
  const command = `sleep ${seconds} & wait`;
  const running = agent.run(scripted("Long", [{ tools: [{ name: "Bash", input: { command } }] }]), {
    signal: stop.signal,
  });
  await until(() => sleeping(seconds));
  const started = performance.now();
  stop.abort();
  const result = await running;
  expect(result).toMatchObject({ stopReason: "cancelled" });
  await until(() => !sleeping(seconds));
  expect(performance.now() - started).toBeLessThan(1000);
});

test("AskUserQuestion pauses the run with its questions, and continues with the answer", async () => {
  const { agent } = await simulatedAgent({ tools: await standardTools({ folder: folder() }) });
  const questions = [
    { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }], multiSelect: false },
  ];
  const waiting = await agent.run(
    scripted("Ask", [
      { tools: [{ name: "AskUserQuestion", input: { questions }, id: "toolu_q" }] },
      { text: "You chose $LAST" },
    ]),
  );
  expect(waiting.stopReason).toBe("awaiting_frontend_tools");
  expect(waiting.awaiting).toMatchObject([{ kind: "question", name: "AskUserQuestion", input: { questions } }]);
  const answered = await agent.answer(waiting.sessionId, [{ toolUseId: "toolu_q", content: "Blue" }]);
  expect(answered).toMatchObject({ finalAnswer: "You chose Blue", runId: waiting.runId });
});

/** Returns whether a process on this machine runs `sleep` with this number of seconds. */
function sleeping(seconds: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${seconds}\0`;
    } catch {
      return false;
    }
  });
}
