/** A process of its own that answers a call of a session: it drives nothing and knows no agent. */
import { createSessions } from "@skein/core";
import { openStore } from "skein";

const [url = "", sessionId = "", toolUseId = "", content = ""] = process.argv.slice(2);
const store = await openStore(url);
const answered = await createSessions({ store }).answer(sessionId, toolUseId, { content });
process.stdout.write(`${JSON.stringify(answered)}\n`);
await store.close();
