import { Menu, MenuButton, MenuItem, MenuProvider } from "@ariakit/react/menu";
import type { Agent } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { shortModel } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { useQueryValue } from "../ui/use-query-value.ts";

const STATUSES: readonly (readonly [value: string, word: string])[] = [
  ["waiting", "Waits for you"],
  ["running", "Running"],
  ["done", "Done"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
  ["idle", "Idle"],
];
const SORTS: readonly (readonly [value: string, word: string])[] = [
  ["changed", "Last run"],
  ["begun", "Begun"],
  ["cost", "Cost"],
  ["title", "Title"],
];

interface FiltersProps {
  readonly agents: readonly Agent[];
  readonly models: readonly string[];
  /** Whether there are sessions of more than one source. */
  readonly hasHistory: boolean;
}

const SOURCES: readonly (readonly [value: string, word: string])[] = [
  ["skein", "Skein"],
  ["claude-code", "Claude Code"],
];

/** What is shown and in which order. Each choice is one value of the address. */
export function Filters({ agents, models, hasHistory }: FiltersProps) {
  return (
    <div className="filters">
      {hasHistory && <Choice name="source" label="Source" values={SOURCES} />}
      <Choice name="status" label="Status" values={STATUSES} />
      <Choice name="agent" label="Agent" values={agents.map(({ id, name }) => [id, visibleLine(name)])} />
      <Choice name="model" label="Model" values={models.map((model) => [model, shortModel(visibleLine(model))])} />
      <Choice name="subagents" label="Subagents" values={[["1", "Shown"]]} />
      <span className="grow" />
      <Choice name="sort" label="Last run" values={SORTS} isSort />
    </div>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly values: readonly (readonly [value: string, word: string])[];
  readonly isSort?: boolean;
}

function Choice({ name, label, values, isSort = false }: ChoiceProps) {
  const [chosen, choose] = useQueryValue(name);
  const word = values.find(([value]) => value === chosen)?.[1];
  return (
    <MenuProvider>
      <MenuButton className={isSort ? "btn quiet" : `filter ${chosen === null ? "" : "on"}`}>
        {!isSort && chosen === null && <Icon name="plus" small />}
        {isSort ? (word ?? label) : word === undefined ? label : `${label}: ${word}`}
        {isSort && <Icon name="down" small />}
      </MenuButton>
      <Menu className="menu" gutter={6} unmountOnHide>
        {!isSort && chosen !== null && (
          <MenuItem className="menu-item" onClick={() => choose(null)}>
            <span className="menu-check" />
            Any
          </MenuItem>
        )}
        {values.map(([value, one]) => (
          <MenuItem
            key={value}
            className="menu-item"
            onClick={() => choose(isSort && value === "changed" ? null : value)}
          >
            <span className="menu-check">
              {(chosen ?? (isSort ? "changed" : null)) === value && <Icon name="check" small />}
            </span>
            {one}
          </MenuItem>
        ))}
      </Menu>
    </MenuProvider>
  );
}
