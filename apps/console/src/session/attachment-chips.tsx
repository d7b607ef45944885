import { visibleLine } from "../text/safe-text.ts";
import { bytes } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import type { Attachment } from "./attachment.ts";

interface AttachmentChipsProps {
  readonly attachments: readonly Attachment[];
  readonly onRemove: (at: number) => void;
}

/** The pictures and files of the next message. */
export function AttachmentChips({ attachments, onRemove }: AttachmentChipsProps) {
  if (attachments.length === 0) return null;
  return (
    <div className="queue">
      {attachments.map(({ name, size }, at) => (
        <span className="chip" key={at}>
          <Icon name="clip" small />
          {visibleLine(name)} · {bytes(size)}
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(at)}>
            <Icon name="x" small />
          </button>
        </span>
      ))}
    </div>
  );
}
