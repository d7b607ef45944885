import { type Store, createModels } from "@skein/core";
import { type LlmModel, ModelSettings } from "@skein/protocol";
import { openStore } from "skein/stores";
import { checkModelSettings, loadCode, openCatalog, serveSettings, tryModel } from "skein/serve";
import { type Call, type Group, defineCommand } from "../terminal/command.ts";
import { openExisting } from "../terminal/existing-store.ts";
import { CommandError, EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { printTable } from "../terminal/table.ts";
import { visible } from "../terminal/visible-text.ts";
import { SERVER_OPTIONS, SERVER_PLACE } from "./server-options.ts";

const OPTIONS = { ...SERVER_PLACE, json: JSON_OPTION } as const;
const ABILITIES = ["tools", "images", "pdf", "thinking", "output"] as const;

const list = defineCommand({
  name: "models list",
  summary: "List the models that were added, and how they are reached.",
  options: OPTIONS,
  examples: ["skein models list", "skein models list --json"],
  run: (call) =>
    withStore(call, async (store) => {
      const models = createModels({ records: store.records });
      const [all, settings] = [await models.list(), new Map(await models.settings())];
      const rows = all.map((model) => ({ ...model, settings: settings.get(model.name) ?? null }));
      if (call.values.json) for (const row of rows) call.screen.json(row);
      else if (rows.length === 0)
        call.screen.note('No model was added. Claude needs none; others: "skein models add --help".\n');
      else printTable(call.screen, ["NAME", "ADDRESS", "KEY", "PRICE IN/OUT", "DEFAULT"], rows.map(row));
    }),
});

const add = defineCommand({
  name: "models add",
  words: "PROVIDER/NAME",
  summary: "Add a model, or change how it is reached. The key stays in the environment: only its name is kept.",
  options: {
    url: { takes: "URL", about: "The address of its server, for example http://127.0.0.1:11434/v1" },
    "key-env": { takes: "VARIABLE", about: "The environment variable with its key" },
    adapter: {
      takes: "API",
      about: "The API it speaks: anthropic, openai or openai-compatible (default: by provider)",
    },
    "model-name": {
      takes: "NAME",
      about: "The name that the server has for it (default: what stands behind the slash)",
    },
    price: { takes: "IN/OUT", about: "Dollars for a million tokens of input and output, for example 0.5/1.5" },
    without: { takes: "ABILITIES", about: `What it cannot do, of ${ABILITIES.join(", ")}; several with commas` },
    with: { takes: "ABILITIES", about: "What it can do although most such models cannot, for example images" },
    quirks: { takes: "JSON", about: "How its server differs from OpenAI's (docs/agents.md has the list)" },
    default: { about: "Agents that name no model use it" },
    ...OPTIONS,
  },
  examples: [
    "skein models add openai-compatible/qwen3 --url http://127.0.0.1:11434/v1",
    "skein models add openai/gpt-6 --key-env OPENAI_API_KEY --price 1.25/10",
    "skein models add ollama/llama4 --with images --default",
  ],
  run: (call) =>
    withNewStore(call, async (store) => {
      const [name = ""] = call.words;
      const settings = settingsIn(call.values);
      checkModelSettings(name, settings);
      const isDefault = call.values.default;
      const model = await createModels({ records: store.records }).add({
        name,
        settings,
        ...(isDefault && { isDefault }),
      });
      if (call.values.json) call.screen.json({ ...model, settings });
      else call.screen.out(`${visible(name)} is added. Try it: skein models test ${visible(name)}\n`);
    }),
});

const test = defineCommand({
  name: "models test",
  words: "PROVIDER/NAME",
  summary: "Make one small call for each ability of a model. The calls cost what the provider charges.",
  options: { ...OPTIONS, config: SERVER_OPTIONS.config },
  examples: ["skein models test openai-compatible/qwen3", "skein models test claude-haiku-4-5 --json"],
  run: (call) =>
    withNewStore(call, async (store) => {
      const [name = ""] = call.words;
      const settings = serveSettings({ ...placeOf(call), config: call.values.config }, call.config);
      const { models } = await loadCode(settings.configFile);
      const { catalog, close } = await openCatalog({ store, config: call.config, configured: models });
      try {
        await catalog.refresh("default");
        const rows: string[][] = [];
        let worked = true;
        for await (const trial of tryModel(name, catalog.named("default", name), new AbortController().signal)) {
          worked &&= trial.outcome !== "fails";
          if (call.values.json) call.screen.json({ model: name, ...trial });
          rows.push([trial.ability, trial.outcome, trial.ms === 0 ? "" : `${trial.ms} ms`, trial.detail]);
        }
        if (!call.values.json) printTable(call.screen, ["ABILITY", "OUTCOME", "TIME", "ANSWER"], rows);
        if (!worked) throw new CommandError(EXIT.failed, `Not everything works with ${name}.`);
      } finally {
        await close();
      }
    }),
});

const remove = defineCommand({
  name: "models remove",
  words: "PROVIDER/NAME",
  summary: "Remove a model that was added. Sessions that name it fail until it is added again.",
  options: OPTIONS,
  examples: ["skein models remove openai-compatible/qwen3"],
  run: (call) =>
    withStore(call, async (store) => {
      const [name = ""] = call.words;
      const models = createModels({ records: store.records });
      const found = (await models.list()).find((model) => model.name === name);
      if (!found) throw new MissingError(`There is no model "${name}". "skein models list" shows them.`);
      await models.remove(found.id);
      if (call.values.json) call.screen.json({ removed: found });
      else call.screen.out(`${visible(name)} is removed.\n`);
    }),
});

/** `skein models`: the models beside Claude that agents may name. */
export const models: Group = {
  name: "models",
  summary: "models of other providers, and how they are reached",
  commands: [list, add, test, remove],
};

type ModelsCall = Call<typeof OPTIONS>;

interface AddValues {
  readonly url?: string | undefined;
  readonly "key-env"?: string | undefined;
  readonly adapter?: string | undefined;
  readonly "model-name"?: string | undefined;
  readonly price?: string | undefined;
  readonly with?: string | undefined;
  readonly without?: string | undefined;
  readonly quirks?: string | undefined;
}

function settingsIn(values: AddValues): ModelSettings {
  const abilities = { ...named(values.with, true), ...named(values.without, false) };
  const given = {
    url: values.url,
    key_env: values["key-env"],
    adapter: values.adapter,
    model_name: values["model-name"],
    price: values.price === undefined ? undefined : priceIn(values.price),
    abilities: Object.keys(abilities).length === 0 ? undefined : abilities,
    quirks: values.quirks === undefined ? undefined : jsonIn(values.quirks),
  };
  const parsed = ModelSettings.safeParse(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  );
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`${issue?.path.join(".")}: ${issue?.message}`);
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

function row({
  name,
  is_default,
  settings,
}: LlmModel & { readonly settings: ModelSettings | null }): readonly string[] {
  const { url = "", key_env = "", price } = settings ?? {};
  return [name, url, key_env, price ? `$${price.input} / $${price.output}` : "", is_default ? "yes" : ""];
}

/** With a store that exists. */
async function withStore(call: ModelsCall, use: (store: Store) => Promise<void>): Promise<number> {
  return withOpened(await openExisting(call.values.store ?? call.config.storeUrl, urlFor(call)), use);
}

/** With a store that is made if it does not exist. */
async function withNewStore(call: ModelsCall, use: (store: Store) => Promise<void>): Promise<number> {
  return withOpened(await openStore(urlFor(call)), use);
}

function urlFor(call: ModelsCall): string {
  return serveSettings(placeOf(call), call.config).storeUrl;
}

function placeOf({ values: { store, data } }: ModelsCall) {
  return { store, data };
}

async function withOpened(store: Store, use: (store: Store) => Promise<void>): Promise<number> {
  try {
    await use(store);
    return EXIT.completed;
  } finally {
    await store.close();
  }
}
