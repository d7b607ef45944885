import { createClient } from "@skein/client";

const client = createClient({ url: "http://127.0.0.1:7433", apiKey: "the key" });
const agent = await client.createAgent({ body: { name: "Helper" } });
const session = await client.createSession({ body: { agent_id: agent.id } });
await client.postMessage({ params: { session_id: session.id }, body: { role: "user", content: { text: "Hello." } } });
for await (const one of client.follow(session.id)) if (one.type === "event") console.log(one.event.event_type);
