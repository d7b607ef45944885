import { type FactData, type Ids, Event, KnownError, type NewEvent, happenedThen, timeOf } from "@skein/protocol";
import { z } from "zod";
import { foldAll } from "../log/fold.ts";
import { renamedEntry } from "./forked-transcript.ts";
import { isPromptHidden } from "./hidden-prompts.ts";
import { parseInput } from "./parse-input.ts";

/**
 * Makes the first facts of an imported session from the log of another session. The log must be consistent and have no
 * open run. Events, runs and messages get new ids. So a file can be imported several times, even if its session still
 * exists.
 */
export function importedLog(
  given: readonly unknown[],
  { tenant, ids }: { readonly tenant: string; readonly ids: Ids },
): readonly NewEvent[] {
  const log = parseInput(z.array(Event), given);
  const [first] = log;
  if (first?.event_type !== "session.created")
    throw new KnownError("invalid", "events: A log begins with session.created.");
  if (log.some(({ sequence }, index) => sequence !== index + 1))
    throw new KnownError("invalid", "events: The sequences of a log are 1, 2, 3 … without a gap.");
  if (log.slice(1).some(({ event_type }) => event_type === "session.created"))
    throw new KnownError("invalid", "events: A log has one session.created.");
  if (log.some(isPromptHidden))
    throw new KnownError(
      "invalid",
      "events: A system prompt is hidden in this file. Export the session with a key that has the scope run.",
    );
  checkFolds(log);
  const names = newNames(log, ids);
  return log.map((event): NewEvent => {
    const { event_type, data } = happenedThen(renamed(event, names), timeOf(event));
    if (event_type !== "session.created") return { event_type, data, id: ids() } as NewEvent;
    // The parent and the caller of an imported session are not in this store.
    return { id: ids(), event_type, data: { ...data, tenant, parent: null, subagent_of: null } };
  });
}

/** The fields with the ids by which facts of one log refer to each other. */
const NAMES = ["run_id", "message_id", "results_message_id", "checkpoint_id", "user_message_uuid"];

/** A new id for each old id. */
type Names = ReadonlyMap<string, string>;

function newNames(log: readonly Event[], ids: Ids): Names {
  const named = log.flatMap(({ data }) =>
    Object.entries(data).flatMap(([key, value]) => (NAMES.includes(key) && typeof value === "string" ? [value] : [])),
  );
  return new Map([...new Set(named)].map((old) => [old, ids()]));
}

/** Replaces the ids of a fact by the new ids. */
function renamed(event: Event, names: Names): Event {
  if (event.event_type === "transcript.appended") return { ...event, data: renamedTranscript(event.data, names) };
  const entries = Object.entries(event.data).map(([key, value]) =>
    NAMES.includes(key) && typeof value === "string" ? [key, names.get(value) ?? value] : [key, value],
  );
  return { ...event, data: Object.fromEntries(entries) };
}

/** Entries of a prompt have the prompt's message id. A fork finds its place in the transcript by this id. */
function renamedTranscript(data: FactData<"transcript.appended">, names: Names): FactData<"transcript.appended"> {
  const { entries, odd_lines } = data;
  return {
    ...data,
    entries: entries.map((entry) => renamedEntry(entry, names)),
    ...(odd_lines && { odd_lines: odd_lines.map((line) => ({ ...line, text: renamedLine(line.text, names) })) }),
  };
}

/** Replaces the ids in a line of JSON, which stays the same otherwise. */
function renamedLine(text: string, names: Names): string {
  return text.replaceAll(/"([\w-]{36})"/g, (quoted, id: string) => {
    const name = names.get(id);
    return name === undefined ? quoted : `"${name}"`;
  });
}

function checkFolds(log: readonly Event[]): void {
  let state;
  try {
    state = foldAll(log[0]?.session_id ?? "", log);
  } catch {
    throw new KnownError("invalid", "events: The log contradicts itself.");
  }
  if (state.run || state.queue.length > 0)
    throw new KnownError("invalid", "events: The log has a run that is not over. Export it when the session is idle.");
}
