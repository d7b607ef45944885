import { Dialog, DialogDismiss, DialogHeading } from "@ariakit/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import type { HistoryKey } from "../api/history-key.ts";
import { CodeBox } from "../text/code-box.tsx";
import { bytes } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { saveFile } from "../ui/save-file.ts";

/** Only this many characters of a line are shown. */
const MOST = 200_000;

interface RawLineProps {
  readonly session: HistoryKey;
  readonly agentId: string | null;
  readonly offset: number;
  readonly onClose: () => void;
}

/** One line of a transcript as it is in the file. */
export function RawLine({ session, agentId, offset, onClose }: RawLineProps) {
  const api = useApi();
  const line = useQuery({
    queryKey: ["history", session, agentId, "line", offset],
    queryFn: () => api.historyLine(session, offset, agentId),
    retry: false,
  });
  const text = useQuery({
    queryKey: ["history", session, agentId, "text", offset],
    queryFn: async () => pretty(await (line.data as Blob).slice(0, 4_000_000).text(), (line.data as Blob).size),
    enabled: line.data !== undefined,
  });
  return (
    <Dialog open onClose={onClose} className="dialog wide" backdrop={<div className="scrim" />}>
      <div className="h">
        <DialogHeading className="dialog-title">Line at {offset}</DialogHeading>
        <span className="end">
          {line.data && (
            <button type="button" className="btn" onClick={() => saveFile(`line-${offset}.json`, line.data)}>
              Save {bytes(line.data.size)}
            </button>
          )}
          <DialogDismiss className="btn quiet icon" aria-label="Close">
            <Icon name="x" />
          </DialogDismiss>
        </span>
      </div>
      {line.isError ? (
        <p className="say-failed">{sentenceOf(line.error)}</p>
      ) : (
        <CodeBox
          code={(text.data ?? "").slice(0, MOST)}
          language={(text.data?.length ?? 0) > 50_000 ? undefined : "json"}
        />
      )}
      {(text.data?.length ?? 0) > MOST && (
        <p className="lbl">The first {MOST} characters. The saved file has all of them.</p>
      )}
    </Dialog>
  );
}

function pretty(text: string, size: number): string {
  if (text.length < size / 4) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
