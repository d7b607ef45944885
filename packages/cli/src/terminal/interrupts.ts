import type { Screen } from "./screen.ts";
import { EXIT } from "./exit-codes.ts";

/**
 * Calls `stop` at the first SIGINT and at the first SIGTERM. A second signal of the same kind ends the process. Returns
 * a function that stops listening.
 */
export function onStop(stop: () => void): () => void {
  process.once("SIGINT", stop).once("SIGTERM", stop);
  return () => void process.off("SIGINT", stop).off("SIGTERM", stop);
}

/** Cancels the run at the first Ctrl-C, and ends the process at the second. Returns a function that stops listening. */
export function onInterrupt(screen: Screen, cancel: () => void): () => void {
  let asked = false;
  const hear = (): void => {
    if (asked) process.exit(EXIT.cancelled);
    asked = true;
    screen.note("\nCancelling. Press Ctrl-C again to end immediately.\n");
    cancel();
  };
  process.on("SIGINT", hear);
  return () => process.off("SIGINT", hear);
}
