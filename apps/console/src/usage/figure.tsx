/** A large number with its name above it. */
export function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <div className="lbl">{name}</div>
      <div className="fig">{value}</div>
    </div>
  );
}
