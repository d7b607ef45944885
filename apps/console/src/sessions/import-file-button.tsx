import { useRef, useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { Icon } from "../ui/icon.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { type SessionFile, readSessionFile } from "./session-files.ts";

/** Reads an export of Skein or a transcript of Claude Code, and asks whether to copy it into a session. */
export function ImportFileButton({ onProblem }: { onProblem: (problem: string | undefined) => void }) {
  const picker = useRef<HTMLInputElement>(null);
  const [isReading, setReading] = useState(false);
  const [chosen, setChosen] = useState<SessionFile>();
  async function read(file: File | undefined): Promise<void> {
    if (!file) return;
    setReading(true);
    onProblem(undefined);
    try {
      setChosen(await readSessionFile(file));
    } catch (error) {
      onProblem(sentenceOf(error));
    }
    setReading(false);
    // Without this, the browser reports no change if the same file is chosen again.
    if (picker.current) picker.current.value = "";
  }
  return (
    <>
      <input
        ref={picker}
        type="file"
        hidden
        accept=".json,.jsonl"
        aria-label="A session as a file"
        onChange={(event) => void read(event.target.files?.[0])}
      />
      <button
        type="button"
        className="btn desk-only"
        disabled={isReading}
        title="An export of a session, or a transcript of Claude Code"
        onClick={() => picker.current?.click()}
      >
        <Icon name="up" small />
        {isReading ? "Reading…" : "Import a file…"}
      </button>
      {chosen && <ImportDialog file={chosen} onClose={() => setChosen(undefined)} />}
    </>
  );
}
