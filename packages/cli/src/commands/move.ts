import type { Moved } from "@skein/core";
import { type MovedAll, isStore, move as moveAll, placeOf } from "skein/stores";
import { counted } from "../terminal/counts.ts";
import { defineCommand } from "../terminal/command.ts";
import { EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";

const NAMED = 20;

/** `skein move`: copies a store to another address. The unfinished runs in the first store are paused. */
export const move = defineCommand({
  name: "move",
  words: "FROM TO",
  summary:
    "Copy everything from one store to another: sessions with their ids and times, agents, keys, webhooks, memories.",
  options: { json: JSON_OPTION },
  examples: [
    "skein move sqlite:$HOME/.skein/skein.db postgres://localhost/skein",
    "skein move postgres://localhost/skein file:./sessions",
  ],
  notes:
    "Nothing is deleted in FROM. An unfinished run continues in TO and is paused in FROM. A repeated move copies only new data: move while the server still runs on FROM, stop the server, and move again.",
  async run({ words, values, screen }) {
    const [from = "", to = ""] = words;
    for (const url of words)
      if (placeOf(url).scheme === "memory")
        throw new UsageError(
          "A store in memory cannot be moved: it lives in one process. Name a sqlite:, file: or postgres: store.",
        );
    if (!(await isStore(from)))
      throw new MissingError(`There is no store at ${placeOf(from).place}. Check the address.`);
    let so: Moved | undefined;
    const done = screen.progress(() =>
      so ? `Moving: ${so.sessions} sessions, ${so.events} events` : "Opening the stores",
    );
    const moved = await moveAll(from, to, (now) => (so = now)).finally(done);
    const { busy, apart } = moved;
    if (values.json) screen.json(moved);
    else screen.out(`${sentence(moved)}\n`);
    if (!values.json) {
      screen.note(named(busy, "not moved: still running in FROM. Stop the server and move again"));
      screen.note(named(apart, "not moved: continued in both FROM and TO"));
    }
    return busy.length + apart.length === 0 ? EXIT.completed : EXIT.failed;
  },
});

/** Returns a sentence about these sessions, with their ids. */
function named(ids: readonly string[], what: string): string {
  if (ids.length === 0) return "";
  const shown = ids.slice(0, NAMED).join("\n  ");
  const more = ids.length > NAMED ? `\n  and ${ids.length - NAMED} more (--json lists all)` : "";
  return `${ids.length === 1 ? "One session is" : `${ids.length} sessions are`} ${what}:\n  ${shown}${more}\n`;
}

function sentence({ sessions, events, records, memories, runs }: MovedAll): string {
  const fresh = `${counted(events, "event")}, ${counted(records, "record")}`;
  const kept = memories === 0 ? "" : `, ${counted(memories, "memory", "memories")}`;
  const going = runs === 0 ? "" : ` ${counted(runs, "run continues", "runs continue")} there.`;
  return `${counted(sessions, "session")} moved. New in the target: ${fresh}${kept}.${going}`;
}
