import { useEffect, useState } from "react";

/** The time, again every so many milliseconds: for what says how long something takes. */
export function useNow(everyMs = 1000, isOn = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isOn]);
  return now;
}
