import { expect, onTestFinished, test, vi } from "vitest";
import { onInterrupt } from "../src/terminal/interrupts.ts";
import { createScreen } from "../src/terminal/screen.ts";

test("the first Ctrl-C calls `cancel`, the second ends the process, and `stop` removes the listener", () => {
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  // Listeners of earlier test files in this worker must not get this test's signal.
  const others = process.listeners("SIGINT");
  process.removeAllListeners("SIGINT");
  onTestFinished(() => {
    vi.restoreAllMocks();
    for (const other of others) process.on("SIGINT", other);
  });
  const cancel = vi.fn();
  const stop = onInterrupt(createScreen(), cancel);
  process.emit("SIGINT");
  expect(cancel).toHaveBeenCalledOnce();
  expect(exit).not.toHaveBeenCalled();
  expect(written).toHaveBeenCalledWith(expect.stringContaining("Ctrl-C again"));
  process.emit("SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
  stop();
  expect(process.listenerCount("SIGINT")).toBe(0);
});
