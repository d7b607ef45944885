import { useEffect, useState } from "react";
import { serverNow } from "../api/server-clock.ts";

/** The server's current time, updated every `everyMs` milliseconds, for durations that are still growing. */
export function useNow(everyMs = 1000, isOn = true): number {
  const [now, setNow] = useState(() => serverNow());
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => setNow(serverNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isOn]);
  return now;
}
