import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";
import { Icon } from "../ui/icon.tsx";
import { sessionFromFile } from "./session-files.ts";

/** Makes a session from an export of Skein, or adopts a transcript of Claude Code. */
export function OpenFileButton({ onProblem }: { onProblem: (problem: string | undefined) => void }) {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const picker = useRef<HTMLInputElement>(null);
  const [isReading, setReading] = useState(false);
  async function read(file: File | undefined): Promise<void> {
    if (!file) return;
    setReading(true);
    onProblem(undefined);
    try {
      const { id } = await sessionFromFile(api, file);
      changed();
      go(`/sessions/${id}`);
    } catch (error) {
      onProblem(sentenceOf(error));
      setReading(false);
    }
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
        {isReading ? "Reading…" : "Open a file…"}
      </button>
    </>
  );
}
