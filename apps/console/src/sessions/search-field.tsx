import type { Ref } from "react";
import { Icon } from "../ui/icon.tsx";

interface SearchFieldProps {
  readonly ref: Ref<HTMLInputElement>;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly onEnter: () => void;
}

/** The field for the search words. */
export function SearchField({ ref, value, onValue, onEnter }: SearchFieldProps) {
  return (
    <label className="field search">
      <Icon name="search" small />
      <span className="sr">Search</span>
      <input
        ref={ref}
        type="search"
        placeholder="Search titles, messages, tool calls"
        value={value}
        onChange={(event) => onValue(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
          if (event.key === "Enter") onEnter();
        }}
      />
      <kbd className="desk-only">/</kbd>
    </label>
  );
}
