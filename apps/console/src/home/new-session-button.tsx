import { useOverlay } from "../shell/overlay.ts";
import { Icon } from "../ui/icon.tsx";

/** The button for search on phones, which have no side bar, and the button for a new session. */
export function NewSessionButton() {
  const open = useOverlay();
  return (
    <>
      <button
        type="button"
        className="btn quiet icon phone-only"
        aria-label="Search or jump to"
        onClick={() => open("palette")}
      >
        <Icon name="search" />
      </button>
      <button type="button" className="btn solid" onClick={() => open("new")}>
        <Icon name="plus" small />
        New session <kbd>N</kbd>
      </button>
    </>
  );
}
