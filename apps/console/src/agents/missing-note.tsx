import type { Agent } from "../api/api.ts";
import { Icon } from "../ui/icon.tsx";
import { missingSentence, useMissingTools } from "./missing-tools.ts";

/** Says that this server lacks tools of the agent, if it does. */
export function MissingNote({ agent }: { readonly agent: Agent }) {
  const missing = useMissingTools()(agent);
  if (missing.length === 0) return null;
  return (
    <p className="warn missing-note" role="status">
      <Icon name="warn" small />
      <span>{missingSentence(missing)}</span>
    </p>
  );
}
