import { type Records, capUses } from "@skein/core";
import type { ApiCap } from "@skein/protocol";
import { type KeyInfo, createKeys } from "@skein/server";
import { type ServerPolicy, explainKey, loadCode, openPolicy, serveSettings } from "skein/serve";
import { type Group, defineCommand } from "../terminal/command.ts";
import { openExisting } from "../terminal/existing-store.ts";
import { EXIT, MissingError } from "../terminal/exit-codes.ts";
import { wrapped } from "../terminal/help.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";
import { SERVER_OPTIONS } from "./server-options.ts";

const explain = defineCommand({
  name: "policy explain",
  words: "KEY",
  summary:
    "Explain in plain words what a key can do on this server. Takes the options of `skein serve`, and runs nothing.",
  options: { ...SERVER_OPTIONS, json: JSON_OPTION },
  examples: ["skein policy explain ci", "skein policy explain ci --config agents/skein.config.ts"],
  async run({ values, words: [named = ""], screen, config }) {
    const settings = serveSettings(values, config);
    const store = await openExisting(values.store ?? config.storeUrl, settings.storeUrl);
    try {
      const keys = createKeys({ records: store.records });
      const rules = openPolicy(settings, await loadCode(settings.configFile), keys);
      const valid = await keys.valid();
      const key = valid.find(({ name, id }) => name === named || (named.length >= 6 && id.startsWith(named)));
      if (!key) throw new MissingError(`There is no valid key "${named}". "skein keys list" shows the keys.`);
      const caps = await capsOf(key, { rules: rules.rules, records: store.records });
      const sentences = [...(await explainKey(key, rules)), ...caps.map(useSentence)];
      if (values.json) screen.json({ key: key.name, tenant: key.tenant, sentences, caps });
      else for (const each of sentences) screen.out(`${wrapped(visible(each), screen.helpColumns).join("\n")}\n`);
      return EXIT.completed;
    } finally {
      await store.close();
    }
  },
});

/** Returns the caps on the runs of a key, with their current use. Caps of agents are included. */
function capsOf(
  { name, tenant }: KeyInfo,
  { rules, records }: { readonly rules: ServerPolicy; readonly records: Records },
): Promise<readonly ApiCap[]> {
  const caps = ["", ...rules.cappedAgents].flatMap((agentName) => rules.capsOf({ tenant, keyName: name, agentName }));
  return capUses(records, [...new Map(caps.map((cap) => [cap.scope, cap])).values()], Date.now());
}

function useSentence({ of, name, runs, spend }: ApiCap): string {
  const money =
    spend && `${usd(spend.spent_usd)} of ${usd(spend.limit_usd)} spent, ${usd(spend.reserved_usd)} reserved`;
  const asked = spend?.ask_at_percent == null ? null : `people are asked at ${spend.ask_at_percent} %`;
  const under = runs && `${runs.under_way} of ${runs.limit} runs under way, ${runs.waiting} waiting`;
  return `Cap of the ${of} "${name}", today (UTC): ${[money, asked, under].filter((part) => part !== null).join("; ")}.`;
}

function usd(amount: number): string {
  return `$${amount.toFixed(amount < 0.01 && amount > 0 ? 6 : 2)}`;
}

/** `skein policy`: what the operator's rules mean. */
export const policy: Group = {
  name: "policy",
  summary: "what a key may do",
  commands: [explain],
};
