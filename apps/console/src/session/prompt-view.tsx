import { memo, useState } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { clock, fullTime } from "../ui/times.ts";
import { ContentView } from "./content-view.tsx";
import { RewindDialog } from "./rewind-dialog.tsx";
import type { Prompt } from "./view.ts";

interface PromptViewProps {
  readonly prompt: Prompt;
  readonly version: number;
  readonly sessionId: string | null;
  readonly onFork: ((messageId: string) => void) | undefined;
}

/** Returns the URL of a message. On the page of a coding agent's session, the URL names the agent and the subagent. */
function linkTo(sequence: number): string {
  const shown = [...new URLSearchParams(location.search)].filter(([name]) => name === "source" || name === "agent");
  const query = new URLSearchParams([...shown, ["at", String(sequence)]]);
  return `${location.origin}${location.pathname}?${query.toString()}`;
}

const MODES = { queue: null, steer: "steered", interrupt: "interrupted" } as const;

/** A message of a person. */
export const PromptView = memo(function PromptView({ prompt, sessionId, onFork }: PromptViewProps) {
  const [isRewinding, setRewinding] = useState(false);
  const mode = MODES[prompt.mode];
  return (
    <div className="you">
      <div className="who">
        <b>You</b>
        <span title={fullTime(prompt.at)}>{clock(prompt.at)}</span>
        {mode !== null && <span className="chip">{mode}</span>}
        {prompt.isCopied && <span className="chip">copied</span>}
        <span className="acts">
          {onFork && (
            <button type="button" className="btn quiet" onClick={() => onFork(prompt.messageId)}>
              <Icon name="fork" small />
              Fork here
            </button>
          )}
          {prompt.checkpointId !== null && (
            <button type="button" className="btn quiet" onClick={() => setRewinding(true)}>
              <Icon name="clock" small />
              Rewind to here…
            </button>
          )}
          <CopyButton text={linkTo(prompt.sequence)} label="Copy a link to this message" />
        </span>
      </div>
      <ContentView content={prompt.content} />
      {isRewinding && prompt.checkpointId !== null && sessionId !== null && (
        <RewindDialog sessionId={sessionId} checkpointId={prompt.checkpointId} onClose={() => setRewinding(false)} />
      )}
    </div>
  );
});
