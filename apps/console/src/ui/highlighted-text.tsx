/** A text in which the search words are marked. */
export function Marked({ text, search }: { text: string; search: string }) {
  const wanted = search.trim().toLowerCase();
  const at = wanted === "" ? -1 : text.toLowerCase().indexOf(wanted);
  if (at === -1) return <>{text}</>;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + wanted.length)}</mark>
      {text.slice(at + wanted.length)}
    </>
  );
}
