import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A session of Claude Code: the prompts, the answers and the calls. */
interface ClaudeStory {
  readonly id: string;
  readonly project: string;
  readonly hoursAgo: number;
  readonly title: string;
  readonly turns: readonly {
    readonly prompt: string;
    readonly steps: readonly {
      readonly text?: string;
      readonly thinking?: string;
      readonly call?: {
        readonly name: string;
        readonly input: object;
        readonly result: string;
        readonly isError?: true;
      };
    }[];
  }[];
}

const STORIES: readonly ClaudeStory[] = [
  {
    id: "3f6d2c1e-8a41-4d7b-9c0e-5b1f7a2d9e01",
    project: "/home/ada/shop",
    hoursAgo: 1.4,
    title: "Make the checkout total match the cart",
    turns: [
      {
        prompt: "The checkout shows 41.97 but the cart says 41.98. Find out why and fix it.",
        steps: [
          {
            thinking: "A cent of difference smells like rounding per line against rounding of the sum.",
            text: "I look for the two places that add up prices.",
            call: {
              name: "Grep",
              input: { pattern: "toFixed\\(2\\)|Math.round", path: "src" },
              result:
                "src/cart/total.ts:14:  return Number(lines.reduce(add, 0).toFixed(2));\nsrc/checkout/summary.ts:31:  lines.map((line) => Number((line.price * line.count).toFixed(2)))",
            },
          },
          {
            text: "The cart rounds the sum, the checkout rounds each line and then adds. I let both use one function in cents.",
            call: {
              name: "Edit",
              input: {
                file_path: "/home/ada/shop/src/checkout/summary.ts",
                old_string: "  lines.map((line) => Number((line.price * line.count).toFixed(2)))",
                new_string: "  totalCents(lines) / 100",
              },
              result: "The file /home/ada/shop/src/checkout/summary.ts has been updated.",
            },
          },
          {
            call: {
              name: "Bash",
              input: { command: "npm test -- totals" },
              result:
                "\u001b[32m✓\u001b[39m totals.test.ts (12)\n  \u001b[32m✓\u001b[39m cart and checkout agree on 1,000 random carts\n\nTests  12 passed (12)",
            },
          },
          {
            text: "Both pages now add up in cents with `totalCents`. A test compares them on **1,000 random carts**; all pass.",
          },
        ],
      },
    ],
  },
  {
    id: "3f6d2c1e-8a41-4d7b-9c0e-5b1f7a2d9e02",
    project: "/home/ada/shop",
    hoursAgo: 21,
    title: "Why is the product list slow on phones?",
    turns: [
      {
        prompt: "The product list takes four seconds on my phone. Profile it.",
        steps: [
          {
            call: {
              name: "Bash",
              input: { command: "npm run lighthouse -- --only=performance" },
              result: "Largest Contentful Paint 3.9 s\nTotal Blocking Time 1,240 ms\nMain bundle 812 kB",
            },
          },
          {
            text: "Most of the time is script: the list imports the whole date library for one format. I load it only in the order page.",
          },
        ],
      },
    ],
  },
  {
    id: "3f6d2c1e-8a41-4d7b-9c0e-5b1f7a2d9e03",
    project: "/home/ada/infra",
    hoursAgo: 49,
    title: "Rotate the backup keys without a gap",
    turns: [
      {
        prompt: "Write a runbook for rotating the backup keys. No backup may be unreadable in between.",
        steps: [
          {
            call: {
              name: "Read",
              input: { file_path: "/home/ada/infra/backup/README.md" },
              result: "Backups are encrypted with age. The key is in the vault under backup/current.",
            },
          },
          {
            text: "Here it is:\n\n1. Make the new key and store it as `backup/next`.\n2. Encrypt to **both** keys for one retention period.\n3. Test a restore with each of them.\n4. Move `next` to `current`, and keep the old one for another period.",
          },
        ],
      },
    ],
  },
  {
    id: "3f6d2c1e-8a41-4d7b-9c0e-5b1f7a2d9e04",
    project: "/home/ada/infra",
    hoursAgo: 98,
    title: "Terraform plan wants to replace the database",
    turns: [
      {
        prompt: "terraform plan says the database must be replaced. It must not. What changed?",
        steps: [
          {
            call: {
              name: "Bash",
              input: { command: "terraform plan -no-color | head -40" },
              result: "Error: configuring provider: no valid credential sources",
              isError: true,
            },
          },
          {
            text: "I cannot read the plan: there are no credentials in this shell. The diff of the last commit changes `engine_version` from 16.3 to 16.4, which forces a replacement with this provider.",
          },
        ],
      },
    ],
  },
];

/** Writes the sessions of `STORIES` into a data directory of Claude Code. */
export function writeClaudeSessions(folder: string, now = Date.now()): void {
  for (const story of STORIES) {
    const project = join(folder, "projects", story.project.replaceAll(/[^A-Za-z0-9]/g, "-"));
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, `${story.id}.jsonl`), linesOf(story, now).join(""));
  }
}

function linesOf(story: ClaudeStory, now: number): readonly string[] {
  const lines: string[] = [];
  let at = now - story.hoursAgo * 3_600_000;
  let parent: string | null = null;
  let number = 0;
  const add = (type: "user" | "assistant", message: object): void => {
    number += 1;
    at += 9000;
    const uuid = `${story.id.slice(0, 24)}${String(number).padStart(12, "0")}`;
    lines.push(
      `${JSON.stringify({ parentUuid: parent, isSidechain: false, userType: "external", cwd: story.project, sessionId: story.id, version: "2.0.14", gitBranch: "main", type, message, uuid, timestamp: new Date(at).toISOString() })}\n`,
    );
    parent = uuid;
  };
  for (const { prompt, steps } of story.turns) {
    add("user", { role: "user", content: prompt });
    for (const [index, { text, thinking, call }] of steps.entries()) {
      const id = `toolu_${story.id.slice(-4)}_${number}`;
      const content = [
        ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "" }]),
        ...(text === undefined ? [] : [{ type: "text", text }]),
        ...(call ? [{ type: "tool_use", id, name: call.name, input: call.input }] : []),
      ];
      add("assistant", {
        id: `msg_${story.id.slice(-4)}_${number}`,
        type: "message",
        role: "assistant",
        model: "claude-opus-5-5",
        content,
        stop_reason: call ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: {
          input_tokens: 40,
          output_tokens: 180 + 90 * index,
          cache_creation_input_tokens: 2400,
          cache_read_input_tokens: 18_000 + 2400 * index,
        },
      });
      if (call)
        add("user", {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: id, content: call.result, ...(call.isError && { is_error: true }) },
          ],
        });
    }
  }
  lines.push(`${JSON.stringify({ type: "custom-title", customTitle: story.title, sessionId: story.id })}\n`);
  return lines;
}
