import { useInfiniteQuery } from "@tanstack/react-query";
import { type AuditEntry, sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import type { State } from "../ui/state.ts";
import { StateWord } from "../ui/status.tsx";
import { Switch } from "../ui/switch.tsx";
import { fullTime } from "../ui/times.ts";
import { useQueryValue } from "../ui/use-query-value.ts";
import { actionWords } from "./audit-words.ts";

const OUTCOMES: readonly (readonly [value: string, word: string])[] = [
  ["all", "All"],
  ["done", "Done"],
  ["refused", "Refused"],
  ["failed", "Failed"],
];
const STATES: Readonly<Record<AuditEntry["outcome"], State>> = { done: "done", refused: "cancelled", failed: "failed" };

function isOutcome(value: string | null): value is AuditEntry["outcome"] {
  return value !== null && Object.hasOwn(STATES, value);
}

/** Who did what in this tenant, newest first. The entries cannot be changed. */
export function AuditSection() {
  const api = useApi();
  const [outcome, setOutcome] = useQueryValue("outcome");
  const [actor, setActor] = useQueryValue("actor");
  const [action, setAction] = useQueryValue("action");
  const filter = {
    ...(isOutcome(outcome) && { outcome }),
    ...(actor !== null && { actor }),
    ...(action !== null && { action }),
  };
  const audit = useInfiniteQuery({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam }) => api.audit({ ...filter, ...(pageParam !== "" && { cursor: pageParam }) }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => next_cursor,
    retry: false,
  });
  const entries = audit.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section className="wide">
      <div className="h audit-h">
        <Switch
          label="Outcome"
          values={OUTCOMES}
          chosen={outcome ?? "all"}
          onChoose={(value) => setOutcome(value === "all" ? null : value)}
        />
        {actor !== null && <Chosen name="By" value={actor} onRemove={() => setActor(null)} />}
        {action !== null && <Chosen name="What" value={actionWords(action)} onRemove={() => setAction(null)} />}
      </div>
      {audit.isLoading ? (
        <LoadingRows rows={8} />
      ) : audit.isError ? (
        <Nothing title="The audit log cannot be shown" state="failed">
          {sentenceOf(audit.error)}
        </Nothing>
      ) : entries.length === 0 ? (
        <Nothing title="No entry fits" state="idle">
          <p>Changes, answers and rejected requests are listed here.</p>
        </Nothing>
      ) : (
        <div className="card">
          <ol className="audit" aria-label="Audit log, newest first">
            {entries.map((entry) => (
              <AuditRow key={entry.id} entry={entry} onActor={setActor} onAction={setAction} />
            ))}
          </ol>
          {audit.hasNextPage && (
            <div className="setform">
              <button
                type="button"
                className="btn"
                disabled={audit.isFetchingNextPage}
                onClick={() => void audit.fetchNextPage()}
              >
                {audit.isFetchingNextPage ? "Reading…" : "Earlier entries"}
              </button>
            </div>
          )}
        </div>
      )}
    </section>
  );
}

function Chosen({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <button type="button" className="filter on" title="Show all again" onClick={onRemove}>
      {name}: {visibleLine(value)} ×
    </button>
  );
}

interface AuditRowProps {
  readonly entry: AuditEntry;
  readonly onActor: (actor: string) => void;
  readonly onAction: (action: string) => void;
}

function AuditRow({ entry, onActor, onAction }: AuditRowProps) {
  const { action, target, outcome, actor, address, detail, created_at, key_id, request_id } = entry;
  return (
    <li>
      <span className="a-state">
        <StateWord state={STATES[outcome]} word={outcome} />
      </span>
      <span className="a-what">
        <button type="button" className="plain strong" title={action} onClick={() => onAction(action)}>
          {visibleLine(actionWords(action, outcome))}
        </button>
        {target !== null && <code className="faint cut">{visibleLine(target)}</code>}
        {detail !== null && <span className="lbl block">{visibleLine(detail)}</span>}
      </span>
      <span className="a-who cut">
        {actor === null ? (
          <span className="faint">no valid key</span>
        ) : (
          <button type="button" className="plain" title={key_id ?? ""} onClick={() => onActor(actor)}>
            {visibleLine(actor)}
          </button>
        )}
        {address !== null && <span className="lbl block">{visibleLine(address)}</span>}
      </span>
      <time className="a-when faint num" dateTime={created_at} title={request_id ?? ""}>
        {fullTime(created_at)}
      </time>
    </li>
  );
}
