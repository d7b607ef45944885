import { useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { bytes, plural } from "../ui/amounts.ts";
import { saveFile } from "../ui/save-file.ts";
import { Icon } from "../ui/icon.tsx";
import { Nothing } from "../ui/empty-state.tsx";
import type { PanelProps } from "./panel-props.ts";
import type { StoredFile } from "./view.ts";

/** The files that the session changed or made. */
export function FilesPanel({ view, sessionId, onShow }: PanelProps) {
  if (view.files.size + view.stored.size === 0)
    return (
      <Nothing title="No files" state="idle">
        Files that the session makes or changes are listed here.
      </Nothing>
    );
  return (
    <ul>
      {[...view.files.values()].map((file) => (
        <li key={file.path} className="eff">
          <Icon name="edit" small />
          <button type="button" className="eff-b" onClick={() => onShow(file.calls.at(-1)?.startedSequence ?? 0)}>
            <code className="cut block">{visibleLine(file.path)}</code>
            <span className="w">{plural(file.calls.length, "change")}</span>
          </button>
          <span className="end num">
            <span className="plus">+{file.added}</span> <span className="minus">−{file.removed}</span>
          </span>
        </li>
      ))}
      {[...view.stored.values()].map((file) => (
        <StoredRow key={file.fileId} file={file} sessionId={sessionId} />
      ))}
    </ul>
  );
}

function StoredRow({ file, sessionId }: { file: StoredFile; sessionId: string }) {
  const api = useApi();
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    try {
      saveFile(file.filename, await api.file(sessionId, file.fileId));
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <li className="eff">
      <Icon name="file" small />
      <span className="eff-b">
        <code className="cut block">{visibleLine(file.filename)}</code>
        <span className="w">{problem ?? bytes(file.size)}</span>
      </span>
      <button
        type="button"
        className="btn quiet icon"
        aria-label={`Download ${file.filename}`}
        onClick={() => void save()}
      >
        <Icon name="download" small />
      </button>
    </li>
  );
}
