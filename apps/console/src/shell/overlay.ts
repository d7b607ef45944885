import { createContext, useContext } from "react";

/** Overlays that open over any page, by a click or a key. */
export type Overlay = "palette" | "keys" | "new" | null;

const OverlayContext = createContext<(overlay: Overlay) => void>(() => {});
export const OverlayProvider = OverlayContext.Provider;

/** Opens the palette, the list of keys or the form for a new session from inside a page. */
export function useOverlay(): (overlay: Overlay) => void {
  return useContext(OverlayContext);
}
