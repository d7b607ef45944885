import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sentenceOf } from "../api/api.ts";
import { useApi, useMe, useModels } from "../api/context.tsx";
import { ModelRow } from "./model-row.tsx";
import { NewModel } from "./new-model.tsx";

/** Lists the models of the server. An admin can add and remove models, and choose the default. */
export function ModelsSection() {
  const api = useApi();
  const queries = useQueryClient();
  const { data: me } = useMe();
  const isAdmin = me?.key.scopes.includes("admin") === true;
  const models = useModels();
  const [problem, setProblem] = useState<string>();
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    setProblem(undefined);
    try {
      await work();
      await queries.invalidateQueries({ queryKey: ["models"] });
      return true;
    } catch (error) {
      setProblem(sentenceOf(error));
      return false;
    }
  };
  return (
    <section className="wide">
      <div className="h">
        <h2>Models</h2> <span className="n">{models.data?.length ?? ""}</span>
      </div>
      <div className="card">
        {models.isError && <p className="pad lbl">{sentenceOf(models.error)}</p>}
        {models.data?.length === 0 && (
          <p className="pad lbl">
            No model is listed. Agents can name models that are not listed. Only a listed model can be the default.
          </p>
        )}
        <ul className="lastlist">
          {(models.data ?? []).map((model) => (
            <ModelRow
              key={model.id}
              model={model}
              isAdmin={isAdmin}
              onDefault={() => void attempt(() => api.addModel({ name: model.name, is_default: true }))}
              onRemove={() => void attempt(() => api.removeModel(model.id))}
            />
          ))}
        </ul>
        {problem !== undefined && (
          <p className="say-failed pad" role="alert">
            {problem}
          </p>
        )}
        {isAdmin && <NewModel onAdd={(input) => attempt(() => api.addModel(input))} />}
      </div>
    </section>
  );
}
