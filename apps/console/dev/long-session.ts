import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@skein/client";

/**
 * Makes a session with about `events` events from copies of another session's only run. Each copy has new ids. The last
 * answer has a different text, so that a test can find it.
 */
export async function importLongSession(client: Client, id: string, events: number): Promise<string> {
  while ((await client.getSession({ params: { session_id: id } })).outcome !== "completed") await delay(50);
  const file = await client.exportSession({ params: { session_id: id } });
  const [created, ...run] = file.events;
  if (!created) throw new Error("The export is empty.");
  const text = JSON.stringify(run);
  const ids = [...new Set(text.match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g))].filter(
    (one) => one !== id,
  );
  const all = [created];
  for (let turn = 0; all.length < events; turn++) {
    const isLast = all.length + run.length >= events;
    let own = text.replaceAll("Prompt number 0", `Prompt number ${turn}`);
    if (isLast) own = own.replaceAll("An answer with some words in it.", "The last answer of all.");
    for (const one of ids) own = own.replaceAll(one, shifted(one, turn));
    for (const event of JSON.parse(own) as typeof run) all.push({ ...event, session_id: id, sequence: all.length + 1 });
  }
  return (await client.importSession({ body: { ...file, events: all } })).id;
}

/** Returns a new id for a copy of the run. It is the original id with a later time. */
function shifted(id: string, turn: number): string {
  const time = (Number.parseInt(id.slice(0, 8), 16) + turn) >>> 0;
  return time.toString(16).padStart(8, "0") + id.slice(8);
}
