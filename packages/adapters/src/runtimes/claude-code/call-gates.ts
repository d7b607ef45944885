import type { DriverLog } from "@skein/core";

/** Holds calls back until the log knows them. */
export interface CallGates {
  /** Resolves when the log knows the call; false if it does not come to know it. */
  pass(toolUseId: string): Promise<boolean>;
  /** Lets those pass that the log knows by now. */
  open(): void;
  /** Nobody waits any longer. */
  close(): void;
}

/** Entries come within a tenth of a second. A call that the log has not heard of by now must not run. */
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
