import { useEffect, useRef } from "react";
import { useChanged } from "../api/context.tsx";
import type { SessionView } from "./view.ts";

/** Tells the lists around the page what changed in the session, so that they do not wait for their next refresh. */
export function useTellChanges(view: SessionView, isRunning: boolean): void {
  const changed = useChanged();
  const news = `${view.runs.length} ${isRunning} ${view.open.size} ${view.title}`;
  const told = useRef(news);
  useEffect(() => {
    if (told.current !== news) changed();
    told.current = news;
  }, [news, changed]);
}
