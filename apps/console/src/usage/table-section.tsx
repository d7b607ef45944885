import type { ReactNode } from "react";

interface TableSectionProps {
  readonly title: string;
  /** Heads of the columns after "Name". */
  readonly heads: ReactNode;
  readonly children: ReactNode;
}

/** A table of the usage page: its title, and rows that begin with a name. */
export function TableSection({ title, heads, children }: TableSectionProps) {
  return (
    <section>
      <div className="h">
        <h2>{title}</h2>
      </div>
      <div className="card">
        <table className="tbl">
          <thead>
            <tr>
              <th scope="col">Name</th>
              {heads}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </section>
  );
}

/** The heads of columns of numbers. */
export function NumberHeads({ names }: { names: readonly string[] }) {
  return names.map((name) => (
    <th key={name} scope="col" className="r w-num">
      {name}
    </th>
  ));
}
