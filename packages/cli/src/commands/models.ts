import { parseInput } from "@skein/core";
import { type ApiModel, ModelSettings, isKnownError } from "@skein/protocol";
import { openStore } from "skein/stores";
import { serveSettings } from "skein/serve";
import type { ModelPlace } from "../models/model-place.ts";
import { createServerModels } from "../models/server-models.ts";
import { createStoreModels } from "../models/store-models.ts";
import { type Call, type Group, type Values, defineCommand } from "../terminal/command.ts";
import { openExisting } from "../terminal/existing-store.ts";
import { CommandError, EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import { readInput } from "../terminal/read-input.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { printTable } from "../terminal/table.ts";
import { visible } from "../terminal/visible-text.ts";
import { SERVER_OPTIONS, SERVER_PLACE } from "./server-options.ts";

const OPTIONS = {
  ...SERVER_PLACE,
  server: {
    takes: "URL",
    about:
      "Use the models of this server instead of a store (key: SKEIN_API_KEY, or the key of a server on this machine)",
  },
  json: JSON_OPTION,
} as const;
const ABILITIES = ["tools", "parallel_tools", "images", "pdf", "thinking", "output", "caching"] as const;

const list = defineCommand({
  name: "models list",
  summary: "List the added models and their addresses. Keys are not shown.",
  options: OPTIONS,
  examples: ["skein models list", "skein models list --json", "skein models list --server http://127.0.0.1:7433"],
  run: (call) =>
    withModels(call, "existing", async (models) => {
      const rows = await models.list();
      if (call.values.json) for (const row of rows) call.screen.json(row);
      else if (rows.length === 0)
        call.screen.note(
          'No model was added. Models of Claude need no entry. To add others: "skein models add --help".\n',
        );
      else printTable(call.screen, ["NAME", "ADDRESS", "KEY", "PRICE IN/OUT", "DEFAULT"], rows.map(row));
    }),
});

const add = defineCommand({
  name: "models add",
  words: "PROVIDER/NAME",
  summary: "Add or change a model. Its key is in an environment variable or in the store.",
  options: {
    url: { takes: "URL", about: "The address of the model's server, for example http://127.0.0.1:11434/v1" },
    "key-env": {
      takes: "VARIABLE",
      about: "The environment variable with the model's key (with --server: a variable of the server)",
    },
    "key-file": {
      takes: "FILE",
      about: "The file with the model's key, - for stdin. The key is kept in the store, and never shown",
    },
    "key-header": {
      takes: "HEADER",
      about: "With anthropic, the header for the key: authorization (the default, as Bearer) or x-api-key",
    },
    adapter: {
      takes: "API",
      about:
        "The API that the server speaks: anthropic, openai, openai-compatible, bedrock or vertex (default: by provider)",
    },
    "model-name": {
      takes: "NAME",
      about: "The name of the model on its server (default: the part after the slash)",
    },
    region: { takes: "REGION", about: "The region of the cloud, for bedrock and vertex" },
    "cloud-project": { takes: "ID", about: "The project in Google's cloud, for vertex" },
    price: { takes: "IN/OUT", about: "Dollars for a million tokens of input and output, for example 0.5/1.5" },
    "context-window": {
      takes: "TOKENS",
      about: "The size of the model's context window. It decides when compaction begins",
    },
    without: {
      takes: "ABILITIES",
      about: `Abilities that the model lacks, separated by commas: ${ABILITIES.join(", ")}`,
    },
    with: {
      takes: "ABILITIES",
      about: "Abilities that the model has beyond the defaults of its provider, for example images",
    },
    quirks: { takes: "JSON", about: "How the server differs from OpenAI's (docs/reference/agents.md has the list)" },
    default: { about: "Use this model for agents without a model" },
    ...OPTIONS,
  },
  examples: [
    "skein models add openai-compatible/qwen3 --url http://127.0.0.1:11434/v1",
    "skein models add openai/gpt-6 --key-env OPENAI_API_KEY --price 1.25/10",
    "skein models add ollama/llama4 --with images --default",
    "skein models add bedrock/eu.anthropic.claude-sonnet-5-5 --region eu-west-1",
    "skein models add groq/llama --key-file key.txt --server http://127.0.0.1:7433",
  ],
  run: (call) =>
    withModels(call, "new", async (models) => {
      const [name = ""] = call.words;
      const { "key-file": file, default: isDefault } = call.values;
      if (file !== undefined && call.values["key-env"] !== undefined)
        throw new UsageError("--key-file and --key-env cannot be used together: a model has one key.");
      const key = file === undefined ? undefined : (await readInput(file)).trim();
      const model = await models.add({ name, settings: settingsIn(call.values), key, isDefault });
      if (call.values.json) call.screen.json(model);
      else call.screen.out(`The model ${visible(name)} is added. To test it: skein models test ${visible(name)}\n`);
    }),
});

const test = defineCommand({
  name: "models test",
  words: "PROVIDER/NAME",
  summary: "Make one small call for each ability of a model. The calls cost what the provider charges.",
  options: { ...OPTIONS, config: SERVER_OPTIONS.config },
  examples: ["skein models test openai-compatible/qwen3", "skein models test claude-haiku-4-5 --json"],
  run: (call) =>
    withModels(call, "new", async (models) => {
      const [name = ""] = call.words;
      const rows: string[][] = [];
      let worked = true;
      for await (const trial of models.test(name)) {
        worked &&= trial.outcome !== "fails";
        if (call.values.json) call.screen.json({ model: name, ...trial });
        rows.push([trial.ability, trial.outcome, trial.ms === 0 ? "" : `${trial.ms} ms`, trial.detail]);
      }
      if (!call.values.json) printTable(call.screen, ["ABILITY", "OUTCOME", "TIME", "ANSWER"], rows);
      if (!worked) throw new CommandError(EXIT.failed, `Not everything works with ${name}.`);
    }),
});

const remove = defineCommand({
  name: "models remove",
  words: "PROVIDER/NAME",
  summary: "Remove a model and its key. Sessions with this model fail until it is added again.",
  options: OPTIONS,
  examples: ["skein models remove openai-compatible/qwen3"],
  run: (call) =>
    withModels(call, "existing", async (models) => {
      const [name = ""] = call.words;
      const removed = await models.remove(name);
      if (!removed) throw new MissingError(`There is no model "${name}". "skein models list" shows the models.`);
      if (call.values.json) call.screen.json({ removed });
      else call.screen.out(`${visible(name)} is removed.\n`);
    }),
});

/** `skein models`: the models, besides Claude, that agents may name. */
export const models: Group = {
  name: "models",
  summary: "models of other providers, and how they are reached",
  commands: [list, add, test, remove],
};

type ModelsCall = Pick<Call<typeof OPTIONS>, "config"> & {
  readonly values: Values<typeof OPTIONS> & { readonly config?: string | undefined };
};

interface AddValues {
  readonly url?: string | undefined;
  readonly "key-env"?: string | undefined;
  readonly "key-header"?: string | undefined;
  readonly adapter?: string | undefined;
  readonly "model-name"?: string | undefined;
  readonly region?: string | undefined;
  readonly "cloud-project"?: string | undefined;
  readonly price?: string | undefined;
  readonly "context-window"?: string | undefined;
  readonly with?: string | undefined;
  readonly without?: string | undefined;
  readonly quirks?: string | undefined;
}

function settingsIn(values: AddValues): ModelSettings {
  const abilities = { ...named(values.with, true), ...named(values.without, false) };
  const given = {
    url: values.url,
    key_env: values["key-env"],
    key_header: values["key-header"],
    adapter: values.adapter,
    model_name: values["model-name"],
    region: values.region,
    project: values["cloud-project"],
    price: values.price === undefined ? undefined : priceIn(values.price),
    context_window: values["context-window"] === undefined ? undefined : Number(values["context-window"]),
    abilities: Object.keys(abilities).length === 0 ? undefined : abilities,
    quirks: values.quirks === undefined ? undefined : jsonIn(values.quirks),
  };
  try {
    return parseInput(
      ModelSettings,
      Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    );
  } catch (error) {
    throw isKnownError(error) ? new UsageError(error.message) : error;
  }
}

function named(text: string | undefined, value: boolean): Record<string, boolean> {
  return Object.fromEntries((text ?? "").split(",").flatMap((name) => (name === "" ? [] : [[name, value] as const])));
}

function priceIn(text: string): object {
  const [input, output, ...more] = text.split("/").map(Number);
  if (input === undefined || output === undefined || more.length > 0 || ![input, output].every(Number.isFinite))
    throw new UsageError(`--price: Expected dollars for input and output, for example 0.5/1.5, and not "${text}".`);
  return { input, output, date: new Date().toISOString().slice(0, 10) };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UsageError(`--quirks: Expected JSON, for example '{"thinking":"reasoning_effort"}'.`);
  }
}

function row({ name, is_default, settings, key }: ApiModel): readonly string[] {
  const { region, project, key_env = "", price } = settings ?? {};
  const place = settings?.url ?? [region, project].filter((part) => part !== undefined).join(" ");
  const shownKey = key === "stored" ? "in the store" : key_env;
  return [name, place, shownKey, price ? `$${price.input} / $${price.output}` : "", is_default ? "yes" : ""];
}

/** Runs `use` with the models of `--server` or of a store. With `new`, the store is created if it does not exist. */
async function withModels(
  { values, config }: ModelsCall,
  kind: "existing" | "new",
  use: (models: ModelPlace) => Promise<void>,
): Promise<number> {
  const { store: given, data, server, config: file } = values;
  if (server !== undefined) {
    if (given !== undefined || data !== undefined)
      throw new UsageError("--store and --data cannot be used with --server: a server has its own store.");
    const { connectServer } = await import("../sessions/connect-server.ts");
    await use(createServerModels(connectServer(server, config).client));
    return EXIT.completed;
  }
  const settings = serveSettings({ store: given, data, config: file }, config);
  const store = await (kind === "new"
    ? openStore(settings.storeUrl)
    : openExisting(given ?? config.storeUrl, settings.storeUrl));
  try {
    await use(createStoreModels(store, { settings, config }));
    return EXIT.completed;
  } finally {
    await store.close();
  }
}
