import { textOf } from "@skein/protocol";
import { useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { Icon } from "../ui/icon.tsx";
import type { Queued } from "./view.ts";

interface QueueRowProps {
  readonly queued: Queued;
  readonly sessionId: string;
}

interface QueueProps {
  readonly queue: readonly Queued[];
  readonly sessionId: string;
}

/** The queued messages. A long list scrolls. */
export function Queue({ queue, sessionId }: QueueProps) {
  if (queue.length === 0) return null;
  return (
    <div className="queues" tabIndex={0} role="group" aria-label="Waiting messages">
      {queue.map((queued) => (
        <QueueRow key={queued.messageId} queued={queued} sessionId={sessionId} />
      ))}
    </div>
  );
}

/** A queued message, which can be cancelled. */
function QueueRow({ queued, sessionId }: QueueRowProps) {
  const api = useApi();
  const [problem, setProblem] = useState<string>();
  const takeBack = async (): Promise<void> => {
    try {
      await api.cancel(sessionId, queued.runId);
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <div className="queue">
      <Icon name="clock" small />
      <span className="cut grow">
        {queued.mode === "steer" ? "Before the next step" : "Next"}: “{visibleLine(textOf(queued.content))}”
        {problem !== undefined && <span className="say-failed"> {problem}</span>}
      </span>
      <button type="button" className="btn quiet icon" aria-label="Cancel this message" onClick={() => void takeBack()}>
        <Icon name="x" small />
      </button>
    </div>
  );
}
