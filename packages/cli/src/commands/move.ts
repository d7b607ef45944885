import type { Moved } from "@skein/core";
import { type MovedAll, isStore, move as moveAll, placeOf } from "skein/stores";
import { counted } from "../terminal/counts.ts";
import { defineCommand } from "../terminal/command.ts";
import { EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";

const NAMED = 20;

/** `skein move`. */
export const move = defineCommand({
  name: "move",
  words: "FROM TO",
  summary: "Everything of one store into another: sessions with their ids and times, agents, keys, webhooks, memories.",
  options: { json: JSON_OPTION },
  examples: [
    "skein move sqlite:$HOME/.skein/skein.db postgres://localhost/skein",
    "skein move postgres://localhost/skein file:./sessions",
  ],
  notes:
    "FROM stays whole. A run that is not over goes on in TO, and sleeps in FROM. Repeat it: what is new is brought, so that the first move can be made while a server still works on FROM, and the last one, after it has stopped, takes a moment.",
  async run({ words, values, screen }) {
    const [from = "", to = ""] = words;
    for (const url of words)
      if (placeOf(url).scheme === "memory")
        throw new UsageError("What is in memory: can neither be brought nor taken.");
    if (!(await isStore(from))) throw new MissingError(`There is no store at ${placeOf(from).place}.`);
    let so: Moved | undefined;
    const done = screen.progress(() =>
      so ? `Moving: ${so.sessions} sessions, ${so.events} events` : "Opening the stores",
    );
    const moved = await moveAll(from, to, (now) => (so = now)).finally(done);
    const { busy, apart } = moved;
    if (values.json) screen.json(moved);
    else screen.out(`${sentence(moved)}\n`);
    if (!values.json) {
      screen.note(named(busy, "being driven: stop the server and move again"));
      screen.note(named(apart, "gone on with in both stores, each in its own way, and left as it is"));
    }
    return busy.length + apart.length === 0 ? EXIT.completed : EXIT.failed;
  },
});

/** The sessions that something is so of. */
function named(ids: readonly string[], what: string): string {
  if (ids.length === 0) return "";
  const shown = ids.slice(0, NAMED).join("\n  ");
  const more = ids.length > NAMED ? `\n  and ${ids.length - NAMED} more, which --json names` : "";
  return `${ids.length === 1 ? "One session is" : `${ids.length} sessions are`} ${what}:\n  ${shown}${more}\n`;
}

function sentence({ sessions, events, records, memories, runs }: MovedAll): string {
  const fresh = `${counted(events, "event")}, ${counted(records, "record")}`;
  const kept = memories === 0 ? "" : `, ${counted(memories, "memory", "memories")}`;
  return `Of ${counted(sessions, "session")}, new there: ${fresh}${kept}. ${counted(runs, "run goes", "runs go")} on there.`;
}
