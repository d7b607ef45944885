/**
 * The program of docs/guides/from/claude-agent-sdk.md: Claude Code behind a server, with sessions that are kept in a
 * store.
 */
import { createServer } from "skein";

const data = process.argv[2] ?? "data";
const { url, key, close } = await createServer({ port: 0, store: `sqlite:${data}/skein.db`, data });

const headers = { "content-type": "application/json", authorization: `Bearer ${key.key}` };
const body = { prompt: 'Use Bash with "echo hello".', allowed_tools: ["Bash"], max_turns: 5 };
const response = await fetch(`${url}/api/v1/query/single`, { method: "POST", headers, body: JSON.stringify(body) });
const { session_id: sessionId, result } = (await response.json()) as { session_id: string; result: string };
console.log(result);

// Another prompt in the same session, which is in the store, not in a folder of this machine.
const more = { method: "POST", headers, body: JSON.stringify({ prompt: 'Use Bash with "echo again".' }) };
const stream = await fetch(`${url}/api/v1/sessions/${sessionId}/resume`, more);
console.log((await stream.text()).match(/^event: result\ndata: .+$/m)?.[0]);
await close();
