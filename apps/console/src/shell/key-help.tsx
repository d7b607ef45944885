import { Dialog, DialogDismiss, DialogHeading } from "@ariakit/react/dialog";
import { Icon } from "../ui/icon.tsx";
import { isMac } from "../ui/is-mac.ts";

const KEYS: readonly (readonly [place: string, keys: readonly (readonly [keys: string, what: string])[]])[] = [
  [
    "Everywhere",
    [
      [isMac() ? "⌘K" : "Ctrl K", "Search or jump to"],
      ["N", "New session"],
      ["G H", "Home"],
      ["G S", "Sessions"],
      ["G A", "Agents"],
      ["G U", "Usage"],
      ["G Q", "SQL"],
      ["?", "This list"],
    ],
  ],
  [
    "Lists",
    [
      ["J K", "Move"],
      ["↵", "Open"],
      ["/", "Search"],
      ["F", "Filter"],
    ],
  ],
  [
    "Inbox",
    [
      ["J K", "Move to the next or previous"],
      ["A", "Approve; if the action cannot be undone, focus the button"],
      ["D", "Deny"],
      ["E", "Change the input"],
      ["1 … 9", "Choose an answer"],
    ],
  ],
  [
    "A session",
    [
      ["[ ]", "Previous or next step"],
      ["O", "Unfold or fold every call"],
      ["I", "Inspector"],
      ["W", "What the model saw"],
      ["⇧F", "Fork at the end"],
      ["Y", "Copy the link"],
      ["Home", "Go to the beginning"],
      ["End", "Go to the end and follow it"],
      ["P", "Write to the agent"],
    ],
  ],
];

/** Lists all keyboard shortcuts. The key `?` opens this list. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} className="dialog keys" backdrop={<div className="scrim" />}>
      <div className="h">
        <DialogHeading>Keys</DialogHeading>
        <span className="end">
          <DialogDismiss className="btn quiet icon" aria-label="Close">
            <Icon name="x" />
          </DialogDismiss>
        </span>
      </div>
      <div className="keys-grid">
        {KEYS.map(([place, keys]) => (
          <section key={place}>
            <h3 className="lbl">{place}</h3>
            <dl>
              {keys.map(([name, what]) => (
                <div key={name}>
                  <dt>
                    {name.split(" ").map((key, at) => (
                      <kbd key={at}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="lbl">Letter keys do nothing while a field has the focus.</p>
    </Dialog>
  );
}
