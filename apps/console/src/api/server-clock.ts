/**
 * The server's clock. The times of events come from this clock, so durations and days are computed with it. The
 * device's clock may be wrong.
 */
let aheadMs = 0;

/** Smaller differences are ignored: they may come from latency, or from the header, which has whole seconds. */
const NOTICED_MS = 10_000;

/** How far the server's clock is ahead of this device's. */
export function clockAhead(): number {
  return aheadMs;
}

/** The time at the server. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** `fetch` that reads the server's time from each answer. */
export async function timedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  const told = Date.parse(response.headers.get("date") ?? "");
  const ahead = told - Date.now();
  if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) > NOTICED_MS ? ahead : 0;
  return response;
}
