/** The store is unavailable in the middle of a turn: the run has one outcome, and nothing is repeated. */
import { readFileSync } from "node:fs";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../../../scripts/postgres.ts";
import { createWorld, only, play, until } from "./world.ts";

test.each([
  ["for a moment: the turn continues", { leaseMs: 30_000, goneMs: 1500 }],
  ["for longer than the lease: the run is resumed", { leaseMs: 3000, goneMs: 5000 }],
])(
  "a turn completes although PostgreSQL crashes in the middle and is unavailable %s",
  async (_, { leaseMs, goneMs }) => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const store = await createPostgresStore({ url: postgres.url, poolSize: 4 });
    onTestFinished(() => store.close());
    const world = await createWorld({ store, leaseMs });
    const { sessionId } = await world.run(play({ text: "One." }), { allowed_tools: ["Bash"] });
    const steps = [1, 2, 3, 4, 5, 6].map((n) => ({
      tools: [{ name: "Bash", input: { command: `echo ${n} >> effects; sleep 0.5` } }],
    }));
    const { runId } = await world.sessions.prompt(sessionId, { content: play(...steps, { text: "Done." }) });
    await until(async () => only(await world.sessions.events(sessionId), "tool.completed").length === 2);
    await postgres.crash();
    // While PostgreSQL is unavailable, a reader asks for new events.
    store.poke(sessionId);
    await delay(goneMs);
    await postgres.start();
    // The first requests may come before PostgreSQL has started.
    const events = await until(() => world.ended(sessionId, runId).catch(() => undefined));
    expect(only(events, "session.completed").map(({ data }) => data.final_response)).toEqual(["Done."]);
    expect(only(events, "session.started")).toHaveLength(1);
    expect(only(events, "run.resumed").length > 0).toBe(goneMs > leaseMs);
    expect(only(events, "tool.completed")).toHaveLength(only(events, "tool.started").length);
    const effects = readFileSync(`${world.cwd}/effects`, "utf8").trim().split("\n");
    expect(new Set(effects).size).toBe(effects.length);
    if (goneMs < leaseMs) expect(effects).toEqual(["1", "2", "3", "4", "5", "6"]);
  },
  120_000,
);
