import { Menu, MenuButton, MenuItem, MenuProvider, MenuSeparator } from "@ariakit/react/menu";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../api/context.tsx";
import { copyText } from "../ui/clipboard.ts";
import { Icon } from "../ui/icon.tsx";
import { saveFile } from "../ui/save-file.ts";

interface SessionMenuProps {
  readonly id: string;
  /** Runs a request, and shows its error on the page if it fails. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
  readonly onRename: () => void;
  readonly onFork: () => void;
}

const EXPORTS = [
  ["html", "html", "Save as a page"],
  ["markdown", "md", "Save as Markdown"],
  ["json", "json", "Save the log"],
] as const;

/** Less common actions: rename, fork, export, copy the link, or delete a session. */
export function SessionMenu({ id, attempt, onRename, onFork }: SessionMenuProps) {
  const api = useApi();
  const [, go] = useLocation();
  const [isDeleting, setDeleting] = useState(false);
  return (
    <MenuProvider>
      <MenuButton className="btn icon quiet" aria-label="More">
        <Icon name="more" />
      </MenuButton>
      <Menu className="menu" gutter={6} unmountOnHide>
        <MenuItem className="menu-item" onClick={onRename}>
          Rename
        </MenuItem>
        <MenuItem className="menu-item" onClick={() => go(`/sessions/${id}/context`)}>
          What the model saw
        </MenuItem>
        <MenuItem className="menu-item" onClick={onFork}>
          Fork at the end
        </MenuItem>
        {EXPORTS.map(([format, ending, word]) => (
          <MenuItem
            key={format}
            className="menu-item"
            onClick={() =>
              void attempt(async () => saveFile(`session-${id}.${ending}`, await api.exportSession(id, format)))
            }
          >
            {word}
          </MenuItem>
        ))}
        <MenuItem className="menu-item" onClick={() => void copyText(`${location.origin}/sessions/${id}`)}>
          Copy the link
        </MenuItem>
        <MenuSeparator className="menu-sep" />
        <MenuItem
          className="menu-item danger"
          hideOnClick={isDeleting}
          onClick={() => {
            if (!isDeleting) return setDeleting(true);
            void attempt(async () => {
              await api.removeSession(id);
              go("/sessions");
            });
          }}
        >
          {isDeleting ? "Delete for ever: click again" : "Delete…"}
        </MenuItem>
      </Menu>
    </MenuProvider>
  );
}
