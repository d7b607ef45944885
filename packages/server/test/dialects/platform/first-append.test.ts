import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../../../scripts/postgres.ts";
import { all, only } from "../claude/world.ts";
import { scripted, session, testServer } from "../../world.ts";

const postgres = inject("postgres");

/** Returns the types of a session's events, in one list per transaction. */
async function transactions(url: string, sessionId: string): Promise<readonly (readonly string[])[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ types: string[] }>(
      `select array_agg(event_type order by sequence) as types from skein.log_events
       where session_id = $1 group by xmin::text order by min(sequence)`,
      [sessionId],
    );
    return rows.map(({ types }) => types);
  } finally {
    await client.end();
  }
}

test("if a fork begins over HTTP with a prompt, one transaction stores the fork, the prompt and the start of the first step", async () => {
  const database = await createDatabase(postgres.url, { template: postgres.template });
  onTestFinished(() => database.drop());
  const server = await testServer({ store: database.url });
  const { id } = await session(server.call);
  await all(server, `/api/v1/sessions/${id}/resume`, { prompt: scripted("One.", [{ text: "First." }]) });

  const fork = await all(server, `/api/v1/sessions/${id}/fork`, { prompt: scripted("Two.", [{ text: "Second." }]) });
  expect(only(fork, "result").data).toMatchObject({ result: "Second.", is_error: false });
  const [first, ...later] = await transactions(database.url, only(fork, "init").data.session_id);
  expect(first?.[0]).toBe("session.created");
  expect(first?.slice(-4)).toEqual(["prompt.accepted", "session.started", "message.created", "step.started"]);
  expect(later).toEqual([["step.generated", "message.created", "session.completed"]]);
});
