import { isDataNotFoundError, watch } from "@skein/history";
import type { AgentLibrary } from "./follow-agents.ts";

type Change = "created" | "appended" | "rewritten" | "removed";

const CHANGES = { session: "created", lines: "appended", rewritten: "rewritten", removed: "removed" } as const;
/** The time between two checks for a missing folder. */
const AGAIN_MS = 10_000;

/** Reports changed sessions until the signal aborts. New lines of a subagent count as a change of its parent session. */
export async function followFolders(
  { config, refresh }: AgentLibrary,
  signal: AbortSignal,
  tell: (sessionId: string, change: Change) => void,
): Promise<void> {
  while (!signal.aborted)
    try {
      for await (const event of watch({ ...config, signal, refresh: () => refresh("all") })) {
        const { sessionId, kind } = event.file;
        if (sessionId !== undefined) tell(sessionId, kind === "agent" ? "appended" : CHANGES[event.type]);
      }
    } catch (error) {
      if (!isDataNotFoundError(error)) throw error;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, AGAIN_MS);
        signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
      });
    }
}
