import { type RefCallback, useCallback, useState } from "react";

/**
 * Measures the width of an element in pixels, again after each change. The element may appear later than its component.
 */
export function useSize(first: number): readonly [ref: RefCallback<HTMLElement>, width: number] {
  const [width, setWidth] = useState(first);
  const ref = useCallback((element: HTMLElement | null) => {
    if (!element) return undefined;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
