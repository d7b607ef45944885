import { join } from "node:path";
import { createSessions } from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { openStore } from "skein";

const AT_ONCE = 500;

/** Writes many sessions with titles into the store of a server. */
export async function makeManySessions(data: string, count: number): Promise<void> {
  const store = await openStore(`sqlite:${join(data, "skein.db")}`);
  const sessions = createSessions({ store });
  const id = "01890000-0000-7000-8000-000000000001";
  const agent = { id, version: 1, status: "active" as const, config: scriptedAgent };
  for (let made = 0; made < count; made += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, at) =>
        sessions.create(agent, { title: `Session number ${made + at} about invoices and exports` }),
      ),
    );
  await store.close();
}
