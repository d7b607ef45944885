import Anthropic from "@anthropic-ai/sdk";
import { createSimulator, script } from "@skein/simulator";

const simulator = await createSimulator();
const client = new Anthropic({ baseURL: simulator.url, apiKey: "anything" });

const prompt = script([{ text: "Let me look.", tools: [{ name: "read", input: { path: "a.txt" } }] }, { text: "It says: $LAST" }], "my test");
await client.messages.create({ model: "claude-opus-5-5", max_tokens: 1000, messages: [{ role: "user", content: prompt }] });

simulator.ledger.calls({ label: "my test" }); // what was asked, what it cost, how it ended
await simulator.close();
