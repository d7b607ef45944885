import { useCallback } from "react";
import { useSearchParams } from "wouter";

/**
 * Returns a parameter of the URL, for example `?tab=effects`, and a function that changes it. Null removes the
 * parameter. With `step`, the browser history gets a new entry.
 */
export function useQueryValue(name: string): readonly [string | null, (value: string | null, step?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string | null, step = false) =>
      setParams(
        (before) => {
          const after = new URLSearchParams(before);
          if (value === null || value === "") after.delete(name);
          else after.set(name, value);
          return after;
        },
        { replace: !step },
      ),
    [name, setParams],
  );
  return [params.get(name), set];
}
