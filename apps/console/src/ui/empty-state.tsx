import type { ReactNode } from "react";
import type { State } from "./state.ts";
import { StateIcon } from "./status.tsx";

/** Shown in place of an empty list: a title, a reason, and one action. */
export function Nothing({ title, state = "done", children }: { title: string; state?: State; children?: ReactNode }) {
  return (
    <div className="nothing">
      <span className={`st ${state}`}>
        <StateIcon state={state} />
      </span>
      <h2>{title}</h2>
      <div className="muted">{children}</div>
    </div>
  );
}

/** Grey bars where rows will be, of the same height as the rows. */
export function LoadingRows({ rows = 6 }: { rows?: number }) {
  return (
    <div aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <div className="skrow" key={at}>
          <span className="sk sk-a" />
          <span className="sk sk-b" />
          <span className="sk sk-c" />
        </div>
      ))}
    </div>
  );
}
