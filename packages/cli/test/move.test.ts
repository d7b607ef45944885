import { join } from "node:path";
import { script } from "@skein/simulator";
import { expect, test } from "vitest";
import { dataFolder, lines, skein, skeinProcess } from "./skein.ts";

test("skein move moves a store to another place, prints what it moved, and creates nothing from a missing store", async () => {
  const folder = dataFolder();
  const [from, to] = [`sqlite:${join(folder, "data", "skein.db")}`, `file:${join(folder, "moved")}`];
  const ran = await skein(folder, "run", script([{ text: "Here." }]));
  const id = /session ([0-9a-f-]{36})/.exec(ran.err)?.[1] ?? "";
  expect(await skeinProcess(folder, "move", from, to)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^1 session moved\. New in the target: 8 events, \d+ records?\.\n$/),
  });
  const [shown] = lines((await skein(folder, "sessions", "show", id, "--store", to, "--json")).out);
  expect(shown).toMatchObject({ id, outcome: "completed" });
  expect(lines((await skein(folder, "move", from, to, "--json")).out)).toMatchObject([{ sessions: 1, events: 0 }]);

  const missing = await skein(folder, "move", `sqlite:${join(folder, "nowhere.db")}`, to);
  expect(missing).toMatchObject({ code: 3, err: expect.stringContaining("There is no store at") });
  for (const same of [from, `sqlite:${folder}/data/../data/skein.db`])
    expect(await skein(folder, "move", from, same)).toMatchObject({
      code: 2,
      err: expect.stringContaining("FROM and TO are the same store."),
    });
  expect(await skein(folder, "move", "memory:", to)).toMatchObject({ code: 2 });
}, 60_000);
