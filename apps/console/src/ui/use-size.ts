import { type RefObject, useLayoutEffect, useRef, useState } from "react";

/** The width of an element in pixels, now and after each change. */
export function useSize<Kind extends HTMLElement>(first: number): readonly [RefObject<Kind | null>, number] {
  const element = useRef<Kind>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return undefined;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
