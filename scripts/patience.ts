/**
 * How long a test waits for a condition in `expect.poll` or on a browser page, in milliseconds. The limit only ends
 * tests that hang. On a busy machine a shorter limit would fail tests that are only slow.
 */
export const PATIENCE_MS = 90_000;
