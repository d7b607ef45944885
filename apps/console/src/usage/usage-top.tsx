import { Icon } from "../ui/icon.tsx";
import { Switch } from "../ui/switch.tsx";
import { type UsageKey, USAGE_KEYS } from "./usage-keys.ts";
import { RANGES, type UsageRange } from "./usage-range.ts";

interface UsageTopProps {
  readonly range: UsageRange;
  readonly by: UsageKey;
  readonly onBy: (by: string) => void;
  readonly hasHistory: boolean;
  readonly isHistory: boolean;
  readonly onSource: (source: string | null) => void;
  readonly onSave: () => void;
}

/** Shows the header of the page, in which the user chooses the source, the groups and the days. */
export function UsageTop({ range, by, onBy, hasHistory, isHistory, onSource, onSave }: UsageTopProps) {
  const chosen = RANGES.find(([, , days]) => days === range.days)?.[0] ?? "30";
  return (
    <>
      <header className="top">
        <h1>Usage</h1>
        <span className="grow" />
        {hasHistory && (
          <Switch
            label="Source"
            values={[
              ["skein", "Skein"],
              ["agents", "Other agents"],
            ]}
            chosen={isHistory ? "agents" : "skein"}
            onChoose={(source) => onSource(source === "skein" ? null : source)}
          />
        )}
        {!isHistory && (
          <button type="button" className="btn desk-only" onClick={onSave}>
            <Icon name="download" small />
            CSV
          </button>
        )}
      </header>
      <div className="bar usage-bar">
        {!isHistory && <Switch folds label="Each day by" values={USAGE_KEYS} chosen={by} onChoose={onBy} />}
        <span className="grow" />
        <Switch
          folds
          label="Range"
          values={RANGES.map(([value, word]) => [value, word])}
          chosen={chosen}
          onChoose={range.choose}
        />
      </div>
    </>
  );
}
