import { useQuery } from "@tanstack/react-query";
import { sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { CapList } from "../usage/cap-list.tsx";
import { visibleLine } from "../text/safe-text.ts";

/** What the operator allows the key of this login, in plain words. */
export function PolicySection() {
  const api = useApi();
  const policy = useQuery({ queryKey: ["policy"], queryFn: () => api.policy(), refetchInterval: 10_000 });
  return (
    <section>
      <div className="h">
        <h2>What this key may do</h2>
      </div>
      <div className="card">
        {policy.data && <PolicySentences sentences={policy.data.sentences} />}
        {policy.data && policy.data.caps.length > 0 && <CapList caps={policy.data.caps} />}
        {policy.isError && <p className="pad lbl">{sentenceOf(policy.error)}</p>}
      </div>
    </section>
  );
}

export function PolicySentences({ sentences }: { sentences: readonly string[] }) {
  return (
    <ul className="sentences">
      {sentences.map((sentence) => (
        <li key={sentence}>{visibleLine(sentence)}</li>
      ))}
    </ul>
  );
}
