/** A separate process that answers a tool call for which a session waits. It runs no sessions and has no agents. */
import { createSessions } from "@skein/core";
import { openStore } from "skein";

const [url = "", sessionId = "", toolUseId = "", content = ""] = process.argv.slice(2);
const store = await openStore(url);
const answered = await createSessions({ store }).answer(sessionId, toolUseId, { content });
process.stdout.write(`${JSON.stringify(answered)}\n`);
await store.close();
