/** A support agent that looks up orders by itself, and asks a person before it refunds money. */
import { appendFileSync } from "node:fs";
import { type Store, createAgent, defineTool } from "skein";
import { z } from "zod";

const ORDERS: Readonly<Record<string, { readonly item: string; readonly euros: number }>> = {
  A17: { item: "wool, 10 balls", euros: 48 },
  B23: { item: "spinning wheel", euros: 390 },
};

export function createSupportAgent(store: Store, folder: string) {
  const findOrder = defineTool({
    name: "find_order",
    description: "Finds an order by its number.",
    input: z.object({ number: z.string() }),
    policy: "repeatable",
    run: ({ number }) => ORDERS[number] ?? `There is no order ${number}.`,
  });
  const refund = defineTool({
    name: "refund",
    description: "Pays the price of an order back.",
    input: z.object({ number: z.string() }),
    // A person decides. The run waits, for days if need be, and survives a restart.
    needsApproval: true,
    run: ({ number }, { idempotencyKey }) => {
      // A real payment provider gets the idempotency key, so that it pays only once.
      appendFileSync(`${folder}/refunds.txt`, `${number} ${ORDERS[number]?.euros ?? 0} EUR ${idempotencyKey}\n`);
      return `Paid back: order ${number}.`;
    },
  });
  return createAgent({
    name: "Support",
    system_prompt: "You help customers of a wool shop. Look an order up before you refund it.",
    store,
    tools: [findOrder, refund],
  });
}
