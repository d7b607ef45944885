/**
 * How long a test waits for a condition, in milliseconds: in `expect.poll`, and on a page in a browser. The limit only ends tests
 * that hang, also on a busy machine, so a test sets no shorter one.
 */
export const PATIENCE_MS = 90_000;
