import type { DriverLog } from "@skein/core";

/** Makes tool calls wait until their start is in the log. */
export interface CallGates {
  /** Resolves to true when the call is in the log, or to false if it could not be stored. */
  pass(toolUseId: string): Promise<boolean>;
  /** Lets calls continue if their start is now in the log. */
  open(): void;
  /** Ends all waits. Calls that are not in the log must not run. */
  close(): void;
}

/**
 * If a call is not in the log after this time, it must not run. Transcript entries normally arrive within a tenth of a
 * second.
 */
const GATE_MS = 20_000;

export function createCallGates(log: DriverLog): CallGates {
  const gates = new Map<string, () => void>();
  const knows = (toolUseId: string): boolean =>
    log.state.run?.calls.some((call) => call.toolUseId === toolUseId) ?? false;
  return {
    async pass(toolUseId) {
      if (knows(toolUseId)) return true;
      await new Promise<void>((resolve) => {
        gates.set(toolUseId, resolve);
        setTimeout(resolve, GATE_MS).unref();
      });
      gates.delete(toolUseId);
      return knows(toolUseId);
    },
    open() {
      for (const [toolUseId, open] of gates)
        if (knows(toolUseId)) {
          gates.delete(toolUseId);
          open();
        }
    },
    close() {
      for (const open of gates.values()) open();
      gates.clear();
    },
  };
}
