/**
 * Runs the exit handlers of a test worker. Vitest ends its workers with SIGTERM, which runs none: the temporary folders that a
 * process keeps until it exits would stay.
 */
const MARK = Symbol.for("skein.test-exit");
const marked = process as { [MARK]?: true };

if (marked[MARK] !== true) {
  marked[MARK] = true;
  process.on("SIGTERM", (_signal, number?: number) => {
    // A test that emits the event itself passes no number.
    if (number === undefined) return;
    process.emit("exit", 128 + number);
    process.kill(process.pid, "SIGKILL");
  });
}
