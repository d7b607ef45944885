import { useAgents, useMe } from "../api/context.tsx";
import { isDemo } from "./demo.ts";
import { FirstStart } from "./first-start.tsx";
import { NextSteps } from "./next-steps.tsx";

interface FirstStepsProps {
  /** Whether there is no agent or no session yet. */
  readonly isFirst: boolean;
  /** Whether no session runs or waits. */
  readonly isIdle: boolean;
}

/** The card for a new user: a first run, and after the demo the next steps. */
export function FirstSteps({ isFirst, isIdle }: FirstStepsProps) {
  const agents = useAgents();
  const me = useMe();
  // Which prompt is suggested depends on the agents and on the model, so the page waits until it knows both.
  if (!agents.data || !me.data) return null;
  const isSimulated = me.data.server.model.simulated;
  if (isFirst) return <FirstStart agents={agents.data} isSimulated={isSimulated} />;
  const usable = agents.data.filter(({ status }) => status === "active");
  const [demo] = usable;
  // The card goes away as soon as there is another agent, or when the agent of the demo is archived.
  if (!isIdle || !demo || !usable.every(isDemo)) return null;
  return <NextSteps demo={demo} isSimulated={isSimulated} />;
}
