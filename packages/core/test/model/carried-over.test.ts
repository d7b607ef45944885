/** Tests how messages of other models are shown to a model. */
import { type ContentBlock, blocksOf } from "@skein/protocol";
import { expect, test } from "vitest";
import { type Reader, carriedOver } from "../../src/model/carried-over.ts";

const GPT = { name: "openai/gpt-6", readsClaude: false, abilities: { images: true, pdf: true } };
const CLAUDE = { name: "claude-sonnet-5-5", readsClaude: true, abilities: { images: true, pdf: true } };
const BLIND = { ...GPT, abilities: { images: false, pdf: false } };

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const pdf = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } };
const signed = { type: "thinking", thinking: "Hm.", signature: "s" };
const own = { type: "thinking", thinking: "Hm.", carry: { by: GPT.name, data: { item: 1 } } };
const foreign = { type: "thinking", thinking: "Hm.", carry: { by: "google/gemini", data: null } };
const call = { type: "tool_use", id: "c", name: "read", input: {}, carry: { by: "google/gemini", data: { id: "g" } } };
const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
const nested = { type: "tool_result", tool_use_id: "c", content: [image, { type: "text", text: "Here." }] };

const NOTHING: readonly string[] = [];
const ROWS: readonly (readonly [string, Reader, ContentBlock, readonly unknown[], readonly string[]])[] = [
  ["thinking of Claude, to Claude", CLAUDE, signed, [signed], NOTHING],
  ["thinking of Claude, to another model", GPT, signed, [], ["thinking"]],
  ["thinking of the model itself", GPT, own, [own], NOTHING],
  ["thinking of another model", GPT, foreign, [], ["thinking"]],
  ["thinking of another model, to Claude", CLAUDE, foreign, [], ["thinking"]],
  ["a call of another model", GPT, call, [{ type: "tool_use", id: "c", name: "read", input: {} }], NOTHING],
  ["a search by the provider, to Claude", CLAUDE, search, [search], NOTHING],
  ["a search by the provider, to another model", GPT, search, [], ["server_tool_use"]],
  ["results of a search by the provider, to another model", GPT, found, [], ["web_search_tool_result"]],
  ["an image, to a model that reads images", GPT, image, [image], NOTHING],
  [
    "an image, to a model that reads no images",
    BLIND,
    image,
    [{ type: "text", text: expect.stringContaining("cannot read images") }],
    ["image"],
  ],
  [
    "a PDF, to a model that reads no PDFs",
    BLIND,
    pdf,
    [{ type: "text", text: expect.stringContaining("cannot read documents") }],
    ["document"],
  ],
  [
    "an image in a result, to a model that reads no images",
    BLIND,
    nested,
    [
      {
        ...nested,
        content: [
          { type: "text", text: expect.stringContaining("left out") },
          { type: "text", text: "Here." },
        ],
      },
    ],
    ["image"],
  ],
];

test.each(ROWS.map(([name, ...row]) => [name, row] as const))(
  "what a model is shown of a conversation: %s",
  (_, [reader, block, shown, left]) => {
    const { turns, leftOut } = carriedOver([{ role: "user", content: [block] }], reader);
    expect(turns.flatMap(({ content }) => blocksOf(content))).toEqual(shown);
    expect(leftOut.map((one) => one.block)).toEqual(left);
  },
);
