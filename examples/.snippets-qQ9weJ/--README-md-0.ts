import { createAgent } from "skein";

const agent = createAgent({ name: "Helper", store: "memory:" });
const { finalAnswer, sessionId } = await agent.run("How much is 2+2?");
console.log(finalAnswer);

const sessions = await agent.sessions();
for (const { sequence, event_type } of await sessions.events(sessionId)) console.log(sequence, event_type);
await agent.close();
