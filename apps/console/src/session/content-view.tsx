import { type Content, type ContentBlock, blocksOf } from "@skein/protocol";
import { CodeBox } from "../text/code-box.tsx";
import { Markdown } from "../text/markdown.tsx";
import { textValue, visible } from "../text/safe-text.ts";
import { Collapsible } from "../ui/collapsible.tsx";
import { Picture } from "./picture.tsx";

/** The content of a message, block by block. Tool calls are left out, because they are shown below their step. */
export function ContentView({ content }: { content: Content }) {
  return (
    <>
      {blocksOf(content).map((block, at) => (
        <BlockView key={at} block={block} />
      ))}
    </>
  );
}

function BlockView({ block }: { block: ContentBlock }) {
  switch (block.type) {
    case "text":
      return <Markdown text={textValue(block["text"])} />;
    case "thinking":
      return <Thinking text={textValue(block["thinking"])} />;
    case "redacted_thinking":
      return <p className="fold">Thinking that the provider keeps hidden</p>;
    case "image":
      return <Picture source={block["source"]} />;
    case "tool_use":
      return null;
    case "document":
      return <DocumentView block={block} />;
    case "server_tool_use":
      return (
        <CodeBox
          title={`${visible(textValue(block["name"]))}, run by the model's provider`}
          code={codeOf(block["input"])}
          language="json"
        />
      );
    default:
      return <CodeBox title={visible(block.type)} code={JSON.stringify(block, null, 2)} language="json" />;
  }
}

function Thinking({ text }: { text: string }) {
  if (text.trim() === "") return null;
  return (
    <Collapsible icon="think" title="Thought" aside={text.trim().split("\n")[0]?.slice(0, 110) ?? ""}>
      <p className="thought">{visible(text.trim())}</p>
    </Collapsible>
  );
}

function DocumentView({ block }: { block: ContentBlock }) {
  const source = (block["source"] ?? {}) as Record<string, unknown>;
  const title = typeof block["title"] === "string" ? block["title"] : "Document";
  if (source["type"] === "text") return <CodeBox title={visible(title)} code={textValue(source["data"])} />;
  const size = typeof source["data"] === "string" ? Math.round((source["data"].length * 3) / 4000) : 0;
  return (
    <p className="chip">
      {visible(title)} · {textValue(source["media_type"], "file")} · {size} kB
    </p>
  );
}

function codeOf(input: unknown): string {
  const values = (input ?? {}) as Record<string, unknown>;
  return typeof values["code"] === "string" ? values["code"] : JSON.stringify(input, null, 2);
}
