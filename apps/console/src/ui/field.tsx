import type { ReactNode } from "react";

/** A field of a form, below its label. */
export function Field({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <label className="stacked">
      <span>{label}</span>
      {children}
    </label>
  );
}
