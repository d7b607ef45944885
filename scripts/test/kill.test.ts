import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { kill } from "../kill.ts";
import { runCampaign } from "../kill/campaign.ts";
import { readJournal } from "../kill/journal.ts";
import { STORES } from "../kill/open-store.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-kill-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A short run: `npm run kill -- --store` kills 50 times per store and writes for longer. */
test.each(STORES)("%s loses no acknowledged event when its writer is killed", { timeout: 180_000 }, async (store) => {
  const outcomes = await kill({
    stores: [store],
    cycles: 2,
    seed: 7,
    delayMs: [60, 250],
    folder: join(folder, store),
  });
  expect(outcomes.flatMap(({ violations }) => violations)).toEqual([]);
  expect(outcomes[0]?.acknowledged).toBeGreaterThan(0);
});

test("the check finds a single missing acknowledged event", { timeout: 60_000 }, async () => {
  const place = { folder: join(folder, "damaged") };
  const outcome = await runCampaign({
    name: "damaged",
    store: "sqlite",
    place,
    cycles: 1,
    seed: 8,
    folder: join(folder, "damaged-journals"),
    delayMs: [150, 150],
    async crash(writer) {
      // After 40 operations, the first prompt is certainly acknowledged.
      while (writer.acknowledged() < 40) await sleep(20);
      await writer.kill();
      const db = new DatabaseSync(join(place.folder, "skein.db"));
      db.exec(
        "delete from events where position = (select min(position) from events where event_type = 'prompt.accepted')",
      );
      db.close();
    },
  });
  expect(outcome.violations.length).toBeGreaterThan(0);
});

test("readJournal ignores the last line of a journal if the kill has cut it", () => {
  const journal = join(folder, "cut.jsonl");
  writeFileSync(journal, `${JSON.stringify({ is: "begun", op: 1, kind: "delete", target: "a" })}\n{"is":"ok","o`);
  expect(readJournal(journal).operations).toMatchObject([{ op: 1, answer: undefined }]);
});
