import { type Outputs, type Story, tokens } from "../story.ts";

/**
 * Sessions that wait for a person: for approvals (of a payment, an edit and a command), an answer, and a tool of the
 * client.
 */
export const waiting: readonly Story[] = [
  {
    agent: "Billing",
    title: "Refund duplicate invoices",
    turns: [
      {
        prompt: "Two customers were charged twice on 3 November. Find them and refund the second charge.",
        steps: [
          {
            text: "I look for invoices with the same customer, amount and day.",
            tools: [{ name: "find_invoices", input: { day: "2026-11-03", same: "customer, amount" } }],
            usage: tokens(6200, 140, 0.7),
          },
          {
            text: "Two pairs. The first charge of each stays; the second goes back.",
            tools: [
              {
                name: "refund_payment",
                input: {
                  invoice: "INV-20418",
                  amount: "€249.00",
                  reason: "Charged twice on 3 Nov; the first charge is INV-20417",
                },
              },
            ],
            usage: tokens(7100, 210, 0.86),
          },
          { text: "Refunded.", usage: tokens(7600, 30, 0.9) },
        ],
      },
    ],
  },
  {
    agent: "Infra",
    title: "Stop the export from overlapping",
    turns: [
      {
        prompt: "Make sure that the cron job of the export can never overlap with itself.",
        steps: [
          {
            text: "Kubernetes can refuse a second run while the first is under way.",
            tools: [
              {
                name: "Edit",
                input: {
                  file_path: "deploy/cron.yaml",
                  old_string: 'schedule: "30 2 * * *"\nconcurrencyPolicy: Allow\njobTemplate:',
                  new_string:
                    'schedule: "30 2 * * *"\nconcurrencyPolicy: Forbid\nstartingDeadlineSeconds: 600\njobTemplate:',
                },
              },
            ],
            usage: tokens(11_000, 190, 0.9),
          },
          { text: "Done.", usage: tokens(11_400, 20, 0.95) },
        ],
      },
    ],
  },
  {
    agent: "Infra",
    title: "Move staging to schema 0042",
    turns: [
      {
        prompt: "Bring the staging database to schema 0042.",
        steps: [
          {
            text: "Staging is at 0040. Two migrations are missing, both only add columns.",
            tools: [{ name: "Bash", input: { command: "npm run db:migrate -- --env staging --to 0042" } }],
            usage: tokens(5200, 120, 0.8),
          },
          { text: "Staging is at 0042.", usage: tokens(5600, 20, 0.9) },
        ],
      },
    ],
  },
  {
    agent: "Reports",
    title: "Invoices per month",
    turns: [
      {
        prompt: "How many invoices did we send in each month of this year?",
        steps: [
          {
            text: "There are three dates on an invoice, and they give different months for about 4 % of them.",
            tools: [
              {
                name: "AskUserQuestion",
                input: {
                  questions: [
                    {
                      question: "Which date decides the month of an invoice?",
                      header: "Date",
                      options: [
                        { label: "The day it was issued", description: "As it stands on the invoice" },
                        { label: "The day it was paid", description: "Leaves out 212 that are still open" },
                        { label: "The day the service ended", description: "As accounting counts" },
                      ],
                    },
                  ],
                },
              },
            ],
            usage: tokens(4100, 160, 0.6),
          },
          { text: "Thank you. I count by that day.", usage: tokens(4400, 30, 0.9) },
        ],
      },
    ],
  },
  {
    agent: "Desk",
    title: "Label for parcel 8812",
    turns: [
      {
        prompt: "Print the label for parcel 8812.",
        steps: [
          {
            tools: [{ name: "print_label", input: { parcel: "8812", printer: "Desk 4", copies: 1 } }],
            usage: tokens(1900, 60, 0),
          },
          { text: "The label is printed.", usage: tokens(2100, 20, 0) },
        ],
      },
    ],
  },
];

export const waitingOutputs: Outputs = {
  "find_invoices 2026-11-03": {
    text: "INV-20417 and INV-20418: Halden Oy, €249.00 each\nINV-20431 and INV-20433: Brightline Ltd, €89.00 each",
    ms: 300,
  },
  "refund_payment INV-20418": { text: "Refund RF-771 is booked.", ms: 200 },
};
