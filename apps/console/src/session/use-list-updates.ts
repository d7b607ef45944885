import { useEffect, useRef } from "react";
import { useChanged } from "../api/context.tsx";
import type { SessionView } from "./view.ts";

/**
 * Marks the lists of sessions and of awaits (waiting questions and approvals) as out of date when the session's runs,
 * awaits or title change.
 */
export function useTellChanges(view: SessionView, isRunning: boolean): void {
  const changed = useChanged();
  const news = `${view.runs.length} ${isRunning} ${view.open.size} ${view.title}`;
  const told = useRef(news);
  useEffect(() => {
    if (told.current !== news) changed();
    told.current = news;
  }, [news, changed]);
}
