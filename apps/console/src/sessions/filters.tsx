import { Menu, MenuButton, MenuItem, MenuProvider } from "@ariakit/react/menu";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Agent } from "../api/api.ts";
import { datedNames } from "../api/distinct-names.ts";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { shortModel } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { useQueryValue } from "../ui/use-query-value.ts";
import { sourceName } from "./listed-row.ts";

const STATUSES: readonly (readonly [value: string, word: string])[] = [
  ["active", "Active"],
  ["waiting", "Waits for you"],
  ["running", "Running"],
  ["done", "Done"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
  ["idle", "Idle"],
  ["unknown", "Effect unknown"],
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
  /** Whether the server shows sessions of coding agents. */
  readonly hasHistory: boolean;
}

/** The filters and the order of the list. Each is a parameter of the URL. */
export function Filters({ agents, models, hasHistory }: FiltersProps) {
  return (
    <div className="filters">
      {hasHistory && <SourceChoice />}
      <Choice name="status" label="Status" values={STATUSES} />
      <Choice
        name="agent"
        label="Agent"
        values={[...datedNames(agents)].map(([id, name]) => [id, visibleLine(name)])}
      />
      <Choice name="model" label="Model" values={models.map((model) => [model, shortModel(visibleLine(model))])} />
      <Choice name="subagents" label="Subagents" values={[["1", "Shown"]]} />
      <span className="grow" />
      <Choice name="sort" label="Last run" values={SORTS} isSort />
    </div>
  );
}

/**
 * The menu of sources: Skein, and the coding agents with sessions on the server's machine. Opening the menu loads them.
 */
function SourceChoice() {
  const api = useApi();
  const [isWanted, setWanted] = useState(false);
  const [chosen] = useQueryValue("source");
  const found = useQuery({
    queryKey: ["history", "sources"],
    // Some agents record no usage, so the usage report lacks these agents. The latest sessions show which agents they
    // are.
    queryFn: async () => {
      const [used, latest] = await Promise.all([
        api.historyUsage({ group_by: "source" }),
        api.historySessions({ offset: 0 }),
      ]);
      return [...used.map(({ key }) => key), ...latest.data.map(({ source }) => source)];
    },
    enabled: isWanted,
    staleTime: 600_000,
  });
  const sources = new Set(["skein", "claude-code", ...(found.data ?? []), ...(chosen === null ? [] : [chosen])]);
  return (
    <Choice
      name="source"
      label="Source"
      values={[...sources].map((source) => [source, sourceName(source)])}
      onOpen={() => setWanted(true)}
    />
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly values: readonly (readonly [value: string, word: string])[];
  readonly isSort?: boolean;
  readonly onOpen?: () => void;
}

function Choice({ name, label, values, isSort = false, onOpen }: ChoiceProps) {
  const [chosen, choose] = useQueryValue(name);
  const word = values.find(([value]) => value === chosen)?.[1];
  return (
    <MenuProvider setOpen={(isOpen) => isOpen && onOpen?.()}>
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
