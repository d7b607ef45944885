/**
 * Runs the exit handlers of a test worker. Vitest ends its workers with SIGTERM, which runs no exit handlers by
 * default, so temporary folders would stay.
 */
const MARK = Symbol.for("skein.test-exit");
const marked = process as { [MARK]?: true };

if (marked[MARK] !== true) {
  marked[MARK] = true;
  process.on("SIGTERM", (_signal, number?: number) => {
    // If `number` is missing, a test has emitted the event, and the process must not end.
    if (number === undefined) return;
    process.emit("exit", 128 + number);
    process.kill(process.pid, "SIGKILL");
  });
}
