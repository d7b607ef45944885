import { useRef } from "react";

/** Keeps the order of a list while somebody points at it: rows change under the pointer, and do not move. */
export function useStableOrder<Item extends { readonly id: string }>(
  items: readonly Item[],
  isHeld: boolean,
): readonly Item[] {
  const last = useRef<readonly string[]>([]);
  if (isHeld && last.current.length > 0) {
    const places = new Map(last.current.map((id, at) => [id, at]));
    const place = ({ id }: Item, at: number): number => places.get(id) ?? last.current.length + at;
    return items.toSorted((one, other) => place(one, 0) - place(other, 0));
  }
  last.current = items.map(({ id }) => id);
  return items;
}
