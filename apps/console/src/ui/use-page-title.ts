import { useEffect } from "react";
import { visibleLine } from "../text/safe-text.ts";

/** Sets the title of the page in the browser's tab and history. */
export function usePageTitle(name: string): void {
  useEffect(() => {
    document.title = name === "" ? "Skein" : `${visibleLine(name).slice(0, 80)} · Skein`;
  }, [name]);
}
