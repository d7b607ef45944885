import { useEffect, useRef } from "react";
import { useChanged } from "../api/context.tsx";
import type { SessionView } from "./view.ts";

/** Updates the lists around the page when the session changes, without waiting for their next refresh. */
export function useTellChanges(view: SessionView, isRunning: boolean): void {
  const changed = useChanged();
  const news = `${view.runs.length} ${isRunning} ${view.open.size} ${view.title}`;
  const told = useRef(news);
  useEffect(() => {
    if (told.current !== news) changed();
    told.current = news;
  }, [news, changed]);
}
