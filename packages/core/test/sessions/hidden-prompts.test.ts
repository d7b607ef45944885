import { type AgentConfig, type JsonObject, createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { withHiddenPrompts } from "../../src/sessions/hidden-prompts.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import { createScript, scriptedAgent } from "../../src/testing/script.ts";

const plain: AgentConfig = { ...scriptedAgent, system_prompt: "" };
const claude = (options: JsonObject): AgentConfig => ({ ...plain, extras: { claude: options } });

test.each<[string, AgentConfig, JsonObject?]>([
  ["the system prompt of an agent", { ...plain, system_prompt: "Secret" }],
  ["the system prompt of a Claude Code session", claude({ system_prompt: "Secret" })],
  ["a text after the system prompt of a Claude Code session", claude({ system_prompt_append: "Secret" })],
  ["the prompt of a subagent", claude({ agents: { helper: { description: "Helps.", prompt: "Secret" } } })],
  ["a system prompt in the options of a run", plain, { system_prompt: "Secret" }],
])("a log without %s is rejected by an import, and the complete log is accepted", async (_, agent, options) => {
  const [store, ids] = [createMemoryStore(), createIds()];
  const script = createScript({ store, ids });
  await script.create({ agent });
  await script.toolTurn("Hi.");
  const log = (await store.read(script.sessionId)).map((event) =>
    event.event_type === "prompt.accepted" && options ? { ...event, data: { ...event.data, options } } : event,
  );
  const sessions = createSessions({ store, ids });
  const { id } = await sessions.import(log);
  const hidden = await withHiddenPrompts(store).read(id);
  expect(JSON.stringify(hidden)).not.toContain("Secret");
  await expect(sessions.import(hidden)).rejects.toThrow("A system prompt is hidden in this file.");
});
