import { useMemo } from "react";
import type { Session } from "../api/api.ts";
import { useModels } from "../api/context.tsx";
import { AwaitCard } from "../inbox/await-card.tsx";
import { PromptBox } from "./prompt-box.tsx";
import type { SessionView } from "./view.ts";
import { waitingCards } from "./waiting-cards.ts";

interface SessionPromptProps {
  readonly id: string;
  readonly view: SessionView;
  readonly version: number;
  readonly session: Session | undefined;
  readonly isRunning: boolean;
  readonly onSent: () => void;
}

/**
 * The forms below a session's transcript: one for each open await (question, approval or frontend tool), and one for
 * the next message.
 */
export function SessionPrompt({ id, view, version, session, isRunning, onSent }: SessionPromptProps) {
  const models = useModels();
  // oxlint-disable-next-line exhaustive-deps -- the view is changed in place, and its version says when.
  const cards = useMemo(() => waitingCards(view, id), [view, version, id]);
  return (
    <div className="prompt">
      {cards.map((card, index) => (
        <AwaitCard key={card.toolUseId} wait={card} isCurrent={index === 0} isInSession />
      ))}
      <PromptBox
        sessionId={id}
        agentName={view.head?.agentName ?? "the agent"}
        isRunning={isRunning}
        queue={view.queue}
        models={models.data ?? []}
        model={session?.model ?? view.head?.model ?? ""}
        onSent={onSent}
      />
    </div>
  );
}
