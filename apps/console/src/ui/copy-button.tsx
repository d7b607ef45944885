import { useState } from "react";
import { Icon } from "./icon.tsx";
import { canCopy, copyText } from "./clipboard.ts";

/** Copies a text to the clipboard, and shows a confirmation for a moment. */
export function CopyButton({
  text,
  className = "",
  label = "Copy",
}: {
  text: string;
  className?: string;
  label?: string;
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  if (!canCopy()) return null;
  return (
    <button
      type="button"
      className={`btn quiet icon copy ${className}`}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? "check" : "copy"} small />
    </button>
  );
}
