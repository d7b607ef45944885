import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { useApi, useModels } from "../api/context.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { when } from "../ui/times.ts";

/** Models that agents, sessions and messages can name. */
export function ModelsSection() {
  const api = useApi();
  const queries = useQueryClient();
  const models = useModels();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string>();
  const add = async (model: string, isDefault: boolean): Promise<void> => {
    setProblem(undefined);
    try {
      await api.addModel(model, isDefault);
      setName("");
      await queries.invalidateQueries({ queryKey: ["models"] });
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <section>
      <div className="h">
        <h2>Models</h2> <span className="n">{models.data?.length ?? ""}</span>
      </div>
      <div className="card">
        {(models.data ?? []).length === 0 ? (
          <p className="pad lbl">None is listed: agents name their models themselves.</p>
        ) : (
          <ul className="lastlist">
            {(models.data ?? []).map((model) => (
              <li key={model.id} className="setitem">
                <code className="grow cut">{visibleLine(model.name)}</code>
                {model.is_default ? (
                  <span className="chip">default</span>
                ) : (
                  <button type="button" className="btn quiet" onClick={() => void add(model.name, true)}>
                    Make default
                  </button>
                )}
                <span className="faint num">{when(model.created_at)}</span>
              </li>
            ))}
          </ul>
        )}
        <form
          className="setform"
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() !== "") void add(name.trim(), false);
          }}
        >
          <label className="field grow">
            <span className="sr">Name of a model</span>
            <input placeholder="claude-sonnet-5-5" value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <button type="submit" className="btn" disabled={name.trim() === ""}>
            Add
          </button>
        </form>
        {problem !== undefined && (
          <p className="say-failed pad" role="alert">
            {problem}
          </p>
        )}
      </div>
    </section>
  );
}
