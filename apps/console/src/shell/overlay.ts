import { createContext, useContext } from "react";

/** Overlays that open over any page, by a click or a key. */
export type Overlay = "palette" | "keys" | "new" | null;

const OverlayContext = createContext<(overlay: Overlay) => void>(() => {});
export const OverlayProvider = OverlayContext.Provider;

/** Returns a function that opens an overlay. Null closes it. */
export function useOverlay(): (overlay: Overlay) => void {
  return useContext(OverlayContext);
}
