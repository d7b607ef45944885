import { useEffect, useState } from "react";
import type { Waiting } from "../api/api.ts";
import { useDistinctName } from "../api/agent-names.ts";
import { type TitleOf, useTitles } from "../api/titles.ts";
import { useKeys } from "../ui/use-keys.ts";
import type { AwaitCardData } from "./await-card-data.ts";
import { AwaitCard } from "./await-card.tsx";

/** The time that an answered card stays in place. */
const STAYS_MS = 4000;

/** The questions, approvals and frontend tools of all sessions that wait for an answer, the oldest first. */
export function Inbox({ awaits }: { awaits: readonly Waiting[] }) {
  const titleOf = useTitles();
  const nameOf = useDistinctName();
  const [kept, setKept] = useState<readonly Waiting[]>(awaits);
  const [current, setCurrent] = useState<string>();
  const idsNow = awaits.map(({ tool_use_id }) => tool_use_id).join();

  useEffect(() => {
    // Answered cards stay for a moment, so that the list does not move under the pointer.
    setKept((before) =>
      [...before.filter((one) => !awaits.some((other) => isSame(one, other))), ...awaits].sort((one, other) =>
        one.opened_at.localeCompare(other.opened_at),
      ),
    );
    const timer = setTimeout(() => setKept(awaits), STAYS_MS);
    return () => clearTimeout(timer);
    // oxlint-disable-next-line exhaustive-deps -- the same awaits in a new list change nothing.
  }, [idsNow]);

  const at = Math.max(
    0,
    kept.findIndex((one) => one.tool_use_id === current),
  );
  const move = (by: number) => () => {
    const next = kept[Math.min(kept.length - 1, Math.max(0, at + by))];
    if (!next) return;
    setCurrent(next.tool_use_id);
    document.querySelector(`[data-await="${CSS.escape(next.tool_use_id)}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys({ j: move(1), k: move(-1) });

  return (
    <div className="inbox">
      {kept.map((one, index) => (
        <AwaitCard
          key={`${one.session_id} ${one.tool_use_id}`}
          wait={cardOf(one, { titleOf, nameOf })}
          isCurrent={index === at}
        />
      ))}
    </div>
  );
}

function isSame(one: Waiting, other: Waiting): boolean {
  return one.tool_use_id === other.tool_use_id && one.session_id === other.session_id;
}

interface Names {
  readonly titleOf: TitleOf;
  readonly nameOf: (id: string, name: string) => string;
}

function cardOf(one: Waiting, { titleOf, nameOf }: Names): AwaitCardData {
  return {
    sessionId: one.session_id,
    toolUseId: one.tool_use_id,
    kind: one.kind as AwaitCardData["kind"],
    name: one.name,
    input: one.input,
    openedAt: Date.parse(one.opened_at),
    expiresAt: one.expires_at,
    title: titleOf({ id: one.session_id, title: one.session.title }),
    agentName: nameOf(one.session.agent_id, one.session.agent_name ?? "an agent"),
  };
}
