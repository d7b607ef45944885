import { type ReactNode, useState } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface CollapsibleProps {
  readonly title: string;
  readonly aside?: string;
  readonly icon?: IconName;
  readonly children: ReactNode;
}

/** A section that can be folded. */
export function Collapsible({ title, aside = "", icon, children }: CollapsibleProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="fold">
      <button type="button" className="foldrow" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chev" small className={isOpen ? "chev is-open" : "chev"} />
        {icon && <Icon name={icon} small />}
        <span>{title}</span>
        {!isOpen && aside !== "" && <span className="cut faint">{aside}</span>}
      </button>
      {isOpen && <div className="fold-body">{children}</div>}
    </div>
  );
}
