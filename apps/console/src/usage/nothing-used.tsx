import { Nothing } from "../ui/empty-state.tsx";
import { RANGES, type UsageRange } from "./usage-range.ts";

/** Shown for a range without usage; offers the longest range. */
export function NothingUsed({ range, what }: { range: UsageRange; what: string }) {
  const longest = RANGES.at(-1);
  const days = range.days === 1 ? "today" : `in the last ${range.days} days`;
  return (
    <Nothing title={`Nothing was ${what} ${days}`} state="idle">
      {longest && longest[2] !== range.days ? (
        <button type="button" className="btn" onClick={() => range.choose(longest[0])}>
          Show {longest[1]}
        </button>
      ) : (
        <p>Usage appears here after the first answer of an agent.</p>
      )}
    </Nothing>
  );
}
