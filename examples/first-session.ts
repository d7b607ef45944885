/** One agent, one question: run it with `npx node --conditions=@skein/source examples/first-session.ts`. */
import { createAgent } from "skein";

const agent = createAgent({ name: "Helper", store: "memory:" });
const { finalAnswer } = await agent.run("How much is 2+2?");
console.log(finalAnswer);
await agent.close();
