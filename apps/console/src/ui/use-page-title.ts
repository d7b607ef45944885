import { useEffect } from "react";
import { visibleLine } from "../text/safe-text.ts";

/** What the browser shows in its tab and its history while this page is open. */
export function usePageTitle(name: string): void {
  useEffect(() => {
    document.title = name === "" ? "Skein" : `${visibleLine(name).slice(0, 80)} · Skein`;
  }, [name]);
}
