import { withoutSecrets } from "@skein/protocol";
import type { StartOptions } from "./start-options.ts";

/** Returns a function that logs errors of background work, without secrets. */
export function createReport(log: StartOptions["log"] = () => {}): (error: unknown) => void {
  return (error) =>
    log({
      level: "error",
      message: withoutSecrets(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    });
}
