import { lazy, Suspense, useState } from "react";
import { Icon } from "../ui/icon.tsx";

const NewSession = lazy(async () => ({ default: (await import("../shell/new-session.tsx")).NewSession }));

export function NewSessionButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="btn solid" onClick={() => setOpen(true)}>
        <Icon name="plus" small />
        New session <kbd>N</kbd>
      </button>
      <Suspense fallback={null}>{isOpen && <NewSession onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
