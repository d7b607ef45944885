/**
 * The server's clock. The times of events come from this clock, so durations and days are computed with it. The
 * device's clock may be wrong.
 */
let aheadMs = 0;

/**
 * Smaller differences are ignored, because they may come from latency, and because the header `Date` has only whole
 * seconds.
 */
const NOTICED_MS = 10_000;

/** Returns how many milliseconds the server's clock is ahead of the device's clock. */
export function clockAhead(): number {
  return aheadMs;
}

export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** Calls `fetch` and reads the server's time from the header `Date` of the response. */
export async function timedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  const told = Date.parse(response.headers.get("date") ?? "");
  const ahead = told - Date.now();
  if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) > NOTICED_MS ? ahead : 0;
  return response;
}
