import { useEffect, useRef } from "react";
import type { Waiting } from "../api/api.ts";

const PLACE = "skein.notices";

/** Whether browser notifications are allowed and turned on. */
export function wantsNotices(): boolean {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(PLACE) === "on";
}

export async function turnNoticesOn(): Promise<boolean> {
  if (!("Notification" in window)) return false;
  const answer = await Notification.requestPermission();
  if (answer === "granted") localStorage.setItem(PLACE, "on");
  return answer === "granted";
}

export function turnNoticesOff(): void {
  localStorage.removeItem(PLACE);
}

/**
 * Shows a browser notification for each new await (a question, an approval or a frontend tool), while the page is
 * hidden.
 */
export function useWaitNotices(awaits: readonly Waiting[] | undefined): void {
  const known = useRef<Set<string> | undefined>(undefined);
  useEffect(() => {
    if (!awaits) return;
    const before = known.current;
    known.current = new Set(awaits.map(({ tool_use_id }) => tool_use_id));
    if (!before || !document.hidden || !wantsNotices()) return;
    for (const one of awaits)
      if (!before.has(one.tool_use_id))
        // oxlint-disable-next-line no-new -- making it shows it.
        new Notification(one.kind === "question" ? "A question waits for you" : "An approval waits for you", {
          body: one.session.title ?? one.name,
          tag: one.tool_use_id,
        });
  }, [awaits]);
}
