import type { Client } from "@skein/client";
import type { ApiModel } from "@skein/protocol";
import { MissingError } from "../terminal/exit-codes.ts";
import type { ModelPlace } from "./model-place.ts";

export function createServerModels(client: Client): ModelPlace {
  const list = async (): Promise<readonly ApiModel[]> => (await client.listModels()).data;
  const named = async (name: string): Promise<ApiModel | undefined> =>
    (await list()).find((model) => model.name === name);

  return {
    list,
    add: ({ name, settings, key, isDefault }) =>
      client.addModel({ body: { name, settings, is_default: isDefault, ...(key !== undefined && { key }) } }),
    async *test(name) {
      const found = await named(name);
      if (!found)
        throw new MissingError(`The server has no model "${name}" in its list. Add it with "skein models add".`);
      yield* (await client.testModel({ params: { model_id: found.id } })).data;
    },
    async remove(name) {
      const found = await named(name);
      if (found) await client.removeModel({ params: { model_id: found.id } });
      return found;
    },
  };
}
