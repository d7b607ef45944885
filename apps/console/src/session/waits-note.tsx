import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { Icon } from "../ui/icon.tsx";
import type { SessionView } from "./view.ts";

/** How often to check whether a prompt still waits. */
const AGAIN_MS = 3000;

/** Says why a prompt does not run: no worker has its agent, or other prompts come first. */
export function WaitsNote({ id, view }: { readonly id: string; readonly view: SessionView }) {
  const api = useApi();
  const isAsked = view.queue.length > 0 || view.runs.some(({ endedAt }) => endedAt === null);
  // The stream of changes does not say why a prompt waits; only the request for a single session does.
  const { data } = useQuery({
    queryKey: ["session", id, "waits"],
    queryFn: () => api.session(id),
    refetchInterval: AGAIN_MS,
    enabled: isAsked,
    retry: false,
  });
  if (!isAsked) return null;
  if (data?.unserved !== undefined)
    return (
      <div className="net" role="status">
        <Icon name="warn" small />
        <span>This session waits: no worker runs its agent. {visibleLine(data.unserved)}</span>
      </div>
    );
  if (data?.queued)
    return (
      <div className="net" role="status">
        <Icon name="clock" small />
        <span>
          The prompt waits for its turn, at place {data.queued.place}: {visibleLine(data.queued.reason)}
        </span>
      </div>
    );
  return null;
}
