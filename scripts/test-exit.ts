/**
 * Runs the exit handlers of a test worker. Vitest ends its workers with SIGTERM, and this signal alone runs no exit
 * handlers, so temporary folders would stay.
 */
const MARK = Symbol.for("skein.test-exit");
const marked = process as { [MARK]?: true };

if (marked[MARK] !== true) {
  marked[MARK] = true;
  process.on("SIGTERM", (_signal, number?: number) => {
    // Without a number, a test has emitted the event itself, and the process must not end.
    if (number === undefined) return;
    process.emit("exit", 128 + number);
    process.kill(process.pid, "SIGKILL");
  });
}
