/** A process of its own that answers a call of a session: it drives nothing and knows no agent. */
import { createSessions } from "@skein/core";
import { openStore } from "skein";

const [url = "", sessionId = "", toolUseId = "", content = ""] = process.argv.slice(2);
const store = await openStore(url);
console.log(JSON.stringify(await createSessions({ store }).answer(sessionId, toolUseId, { content })));
await store.close();
