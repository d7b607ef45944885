import type { AwaitCardData } from "../inbox/await-card-data.ts";
import type { SessionView } from "./view.ts";

/** Returns a card for each open await (question, approval or frontend tool) of the session. */
export function waitingCards(view: SessionView, sessionId: string): readonly AwaitCardData[] {
  return [...view.open.values()].flatMap((call) => {
    const { wait } = call;
    if (!wait || wait.kind === "subagent" || wait.answer !== null) return [];
    return [
      {
        sessionId,
        toolUseId: call.id,
        kind: wait.kind,
        name: call.name,
        input: call.input,
        openedAt: wait.openedAt,
        expiresAt: wait.expiresAt,
        title: view.title ?? "",
        agentName: view.head?.agentName ?? "",
      },
    ];
  });
}
