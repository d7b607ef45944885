import type { Envelope } from "./envelope.ts";

/** The name of the XML element for each type of envelope. */
const ELEMENTS: Readonly<Record<Envelope["type"], string>> = {
  meta_init: "meta_init",
  thinking: "content-block-thinking",
  text: "content-block-text",
  citation: "citations",
  tool_call: "content-block-tool_call",
  server_tool_call: "content-block-server_tool_call",
  tool_result: "content-block-tool_result",
  tool_result_image: "content-block-tool_result_image",
  server_tool_result: "content-block-server_tool_result",
  awaiting_frontend_tools: "awaiting_frontend_tools",
  meta_files: "meta_files",
  error: "content-block-error",
  meta_final: "meta_final",
};

/**
 * Writes envelopes as XML elements. The first piece opens the element and the last piece closes it. Every piece is a
 * separate CDATA section, so that a `]]>` split over two pieces cannot end a section.
 */
export function createXml(): { add(envelope: Envelope): string; end(): string } {
  let open: { readonly key: string; readonly element: string } | undefined;
  const close = (): string => {
    const closing = open ? `</${open.element}>\n` : "";
    open = undefined;
    return closing;
  };

  return {
    add(envelope) {
      const element = ELEMENTS[envelope.type];
      if (envelope.type === "tool_call" || envelope.type === "server_tool_call")
        return `${close()}<${element}${attributes(envelope)} arguments="${escaped(envelope.delta)}"></${element}>\n`;
      const key = `${envelope.type} ${envelope.id}`;
      let text = "";
      // An empty piece of text or thinking only marks the end of its block. If the element is already closed, for
      // example by a citation inside the text, nothing is sent.
      if (open?.key !== key && envelope.delta === "" && isProse(envelope)) return "";
      if (open?.key !== key) {
        text = `${close()}<${element}${attributes(envelope)}>`;
        open = { key, element };
      }
      if (envelope.delta !== "") text += cdata(envelope.delta);
      return envelope.final ? text + close() : text;
    },
    /** Closes the open element after the stream has broken off. */
    end: close,
  };
}

function isProse({ type }: Envelope): boolean {
  return type === "text" || type === "thinking";
}

const NAMED: ReadonlySet<Envelope["type"]> = new Set([
  "tool_call",
  "server_tool_call",
  "tool_result",
  "tool_result_image",
  "server_tool_result",
]);

function attributes({ type, id, name, is_error, media_type, code, reset, message }: Envelope): string {
  const all: readonly (readonly [string, string | boolean | undefined])[] = [
    ["id", NAMED.has(type) ? id : undefined],
    ["name", name === "" ? undefined : name],
    ["is_error", is_error === true ? true : undefined],
    ["media_type", media_type],
    ["code", code],
    ["reset", reset],
    ["message", reset ? message : undefined],
  ];
  return all.map(([key, value]) => (value === undefined ? "" : ` ${key}="${escaped(String(value))}"`)).join("");
}

function escaped(text: string): string {
  return legal(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("\n", "&#10;")
    .replaceAll("\r", "&#13;")
    .replaceAll("\t", "&#9;");
}

function cdata(text: string): string {
  return `<![CDATA[${legal(text).replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
}

/** Replaces characters that XML cannot represent. */
function legal(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the characters that are looked for
  return text.toWellFormed().replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, "\uFFFD");
}
