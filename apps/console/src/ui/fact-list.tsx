import type { ReactNode } from "react";

/** A list of names and values: `<FactList><Fact name="Model">…</Fact></FactList>`. */
export function FactList({ children }: { readonly children: ReactNode }) {
  return <dl className="kv">{children}</dl>;
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="cut">{children}</dd>
    </div>
  );
}

/** A row of a legend: a coloured dot, its meaning, and a figure at the end. */
export function DotRow({
  dot,
  name,
  children,
}: {
  readonly dot: string;
  readonly name: string;
  readonly children: ReactNode;
}) {
  return (
    <li>
      <span className={`dot ${dot}`} />
      {name}
      <span className="end">{children}</span>
    </li>
  );
}
