import { useEffect, useRef } from "react";
import { useChanged } from "../api/context.tsx";
import type { SessionView } from "./view.ts";

/** Reloads the lists of sessions and the lists of awaits when the session changes. */
export function useTellChanges(view: SessionView, isRunning: boolean): void {
  const changed = useChanged();
  const news = `${view.runs.length} ${isRunning} ${view.open.size} ${view.title}`;
  const told = useRef(news);
  useEffect(() => {
    if (told.current !== news) changed();
    told.current = news;
  }, [news, changed]);
}
