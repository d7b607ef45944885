import type { Draft, Event } from "@skein/protocol";
import type { SeenSession } from "../sessions/session-calls.ts";
import { sessionOf } from "./print-run.ts";
import type { Screen } from "./screen.ts";
import { visibleLine } from "./visible-text.ts";

/** How often to check whether a prompt waits in the queue. */
const LOOK_MS = 1000;

/** Says in a line why the prompt of a session has not begun to run. Returns undefined if the prompt does not wait. */
export function waitsInLine({ queued, unserved }: Pick<SeenSession, "queued" | "unserved">): string | undefined {
  if (queued) return `queued, place ${queued.place}: ${visibleLine(queued.reason)}`;
  return unserved === undefined ? undefined : `waiting: ${visibleLine(unserved)}`;
}

/** Yields all items. While the prompt waits in the queue, prints a note whenever its place changes. */
export async function* tellingPlace(
  items: AsyncIterable<Event | Draft>,
  { screen, get }: { readonly screen: Screen; readonly get: (sessionId: string) => Promise<SeenSession> },
): AsyncGenerator<Event | Draft> {
  let told: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const look = async (sessionId: string): Promise<void> => {
    const line = waitsInLine(await get(sessionId));
    if (line !== undefined && line !== told && timer) screen.note(`${line[0]?.toUpperCase()}${line.slice(1)}\n`);
    told = line;
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  try {
    for await (const item of items) {
      if ("event_type" in item && item.event_type === "prompt.accepted") {
        const id = sessionOf(item);
        // If a check fails, only the checks end. The command still shows the run.
        timer ??= setInterval(() => void look(id).catch(stop), LOOK_MS).unref();
      } else if ("event_type" in item && item.event_type !== "session.created") stop();
      yield item;
    }
  } finally {
    stop();
  }
}
