import { useState } from "react";
import type { SqlExample, SqlTable } from "../api/api.ts";
import { useMe } from "../api/context.tsx";
import { Icon } from "../ui/icon.tsx";
import { questionGroups } from "./questions.ts";
import type { Tables } from "./tables.ts";

interface SqlTreeProps {
  readonly tables: Tables;
  readonly examples: readonly SqlExample[];
  readonly chosen: string;
  /** Whether a narrow screen shows the tree in front of the statement. A wide screen always shows the tree. */
  readonly isOpen: boolean;
  readonly onQuestion: (sql: string) => void;
  readonly onName: (name: string) => void;
  /** Escape was pressed in the search field. */
  readonly onClose: () => void;
}

/** Example queries, and every table with its columns. */
export function SqlTree({ tables, examples, chosen, isOpen, onQuestion, onName, onClose }: SqlTreeProps) {
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const shown = tables.all.filter(
    ({ name: table, columns }) =>
      wanted === "" || table.includes(wanted) || columns.some(({ name }) => name.toLowerCase().includes(wanted)),
  );
  const isAgentsClosed = useMe().data?.server.sql.history === false;
  const groups = questionGroups(examples);
  const firstOfAgents = groups.find(({ readsAgents }) => readsAgents)?.name;
  return (
    <div className={`tree scroll ${isOpen ? "is-open" : ""}`} id="sql-tree">
      <label className="field">
        <Icon name="search" small />
        <span className="sr">Find a table or column</span>
        <input
          placeholder="Find a table or column"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && onClose()}
        />
      </label>
      {groups.map(({ name, questions }) => (
        <section key={name} aria-label={`Questions: ${name}`}>
          {isAgentsClosed && name === firstOfAgents && (
            <p className="lbl tree-note">
              The questions below find no rows of coding agents, because the tables of coding agents are off. To turn
              them on for admin keys, set <code>SKEIN_SQL_HISTORY</code>.
            </p>
          )}
          <h2>{name}</h2>
          <ul>
            {questions.map(({ title, sql }) => (
              <li key={title}>
                <button
                  type="button"
                  className="tree-h tall"
                  aria-current={sql === chosen ? "true" : undefined}
                  onClick={() => onQuestion(sql)}
                >
                  <Icon name="ask" small />
                  <span>{title}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <h2>Tables</h2>
      <ul>
        {shown.map((table) => (
          <TableRow key={table.name} table={table} isOpen={wanted !== "" && shown.length < 6} onName={onName} />
        ))}
      </ul>
    </div>
  );
}

interface TableRowProps {
  readonly table: SqlTable;
  readonly isOpen: boolean;
  readonly onName: (name: string) => void;
}

function TableRow({ table, isOpen: opensItself, onName }: TableRowProps) {
  const [isOpen, setOpen] = useState(false);
  const shows = isOpen || opensItself;
  return (
    <li>
      <button
        type="button"
        className="tree-h"
        title={table.about}
        aria-expanded={shows}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="chev" small className={shows ? "chev is-open" : "chev"} />
        <Icon name="table" small />
        <code className="cut">{table.name}</code>
      </button>
      {shows && (
        <ul>
          {table.columns.map(({ name, type, about }) => (
            <li key={name}>
              <button type="button" className="tree-h" title={about} onClick={() => onName(name)}>
                <code className="cut">{name}</code>
                <span className="ty">{wordOf(type)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function wordOf(type: string): string {
  if (/INT|DOUBLE|DECIMAL|FLOAT/.test(type)) return "number";
  if (/TIMESTAMP|DATE/.test(type)) return "time";
  if (type === "BOOLEAN") return "yes/no";
  if (type === "JSON") return "json";
  return type.endsWith("[]") ? "list" : "text";
}
