import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSessions } from "@skein/core";
import { createAgent, openStore } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { scripted, simulatedAgent } from "./simulated.ts";

test("a title is written once, after the first answer, without tools and with a low token limit", async () => {
  const { agent, simulator } = await simulatedAgent({ generate_title: true, system_prompt: "Be brief." });
  const first = await agent.run(scripted("Sort a list", [{ text: "sorted(list)" }]));
  await agent.run(scripted("And reversed?", [{ text: "reversed(list)" }]), { sessionId: first.sessionId });
  const [answer, title, second, ...more] = simulator.ledger.calls({ kind: "messages" });
  expect(more).toEqual([]);
  expect(title?.request).toMatchObject({ max_tokens: 64, messages: [{ role: "user" }] });
  expect(title?.request).not.toHaveProperty("tools");
  expect(JSON.stringify(second?.request)).toContain("And reversed?");
  expect(first.usage.output_tokens).toBe((answer?.usage?.output_tokens ?? 0) + (title?.usage?.output_tokens ?? 0));
  // The title is a model call of the run, but not a message of the conversation.
  expect(first.conversationHistory).toHaveLength(2);
  expect(first.finalAnswer).toBe("sorted(list)");
  expect(first.totalSteps).toBe(1);
});

test("the simulator's title is the first words of the prompt", async () => {
  const { agent } = await simulatedAgent({ generate_title: true });
  const { sessionId } = await agent.run("Tell me about ships, and what they carry over the sea.");
  expect((await (await agent.sessions()).get(sessionId)).title).toBe("Tell me about ships, and what");
});

test("a session that has a title keeps it", async () => {
  const { agent, simulator } = await simulatedAgent({ generate_title: true });
  const { sessionId } = await agent.run(scripted("One", [{ text: "1" }]));
  const sessions = await agent.sessions();
  await sessions.edit(sessionId, { title: "My own" });
  await agent.run(scripted("Two", [{ text: "2" }]), { sessionId });
  expect((await sessions.get(sessionId)).title).toBe("My own");
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(3);
});

test("a title that a person sets while the model writes a title is kept", async () => {
  const store = await openStore("memory:");
  const append: typeof store.append = async (sessionId, events, options) => {
    // A person sets a title at the last moment before the model's title is stored.
    if (events.some(({ event_type }) => event_type === "title.generated"))
      await createSessions({ store }).edit(sessionId, { title: "My own" });
    return store.append(sessionId, events, options);
  };
  const { agent } = await simulatedAgent({ generate_title: true, store: { ...store, append } });
  const { sessionId, error } = await agent.run(scripted("Sort a list", [{ text: "sorted(list)" }]));
  expect(error).toBeNull();
  expect((await (await agent.sessions()).get(sessionId)).title).toBe("My own");
});

test.each([
  ['"Sorting *lists*."', "Sorting *lists"],
  ["# A\u001b[31m title\u0000 with\ncontrols", "A [31m title with controls"],
  ["", null],
  ["x".repeat(5000), "x".repeat(255)],
])("a model's answer %j becomes the title %j", async (written, expected) => {
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume();
    calls += 1;
    response.writeHead(200, { "content-type": "text/event-stream" }).end(streamOf(calls === 1 ? "Hello" : written));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const agent = createAgent({ apiKey: "x", baseUrl: `http://127.0.0.1:${port}`, generate_title: true });
  onTestFinished(async () => {
    await agent.close();
    server.closeAllConnections();
    server.close();
  });
  const { sessionId, error } = await agent.run("Hi");
  expect(error).toBeNull();
  expect((await (await agent.sessions()).get(sessionId)).title).toBe(expected);
});

function streamOf(text: string): string {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const events = [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", model: "x", content: [], usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
