import { memo, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CodeBox } from "./code-box.tsx";
import { markdownBlocks } from "./markdown-blocks.ts";
import { visible } from "./safe-text.ts";

/** Only the beginning of longer texts is shown, without formatting. */
const MOST = 400_000;

/**
 * Markdown as elements. HTML is shown as text, images are shown as links, and the tooltip of a link shows its target.
 * The blocks are parsed separately: while a text grows, only its last block is parsed again.
 */
export function Markdown({ text }: { text: string }) {
  const isLong = text.length > MOST;
  const blocks = useMemo(() => (isLong ? [] : markdownBlocks(visible(text))), [text, isLong]);
  if (isLong) return <pre className="plain">{visible(cut(text))}</pre>;
  return (
    <div className="md">
      {blocks.map((block, at) => (
        <Block key={at} text={block} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={safeAddress} skipHtml={false}>
      {text}
    </ReactMarkdown>
  );
});

function cut(text: string): string {
  return `${text.slice(0, MOST)}\n\n… ${(text.length - MOST).toLocaleString("en-US")} more characters. The export of the session has all of them.`;
}

const PLUGINS = [remarkGfm];

/**
 * Returns the address of a link if it begins with http:, https: or mailto:. Returns an empty text for other addresses.
 */
function safeAddress(address: string): string {
  return /^(https?:|mailto:)/i.test(address.trim()) ? address.trim() : "";
}

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" className="link" title={href}>
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  // An image is shown as a link. Loading the image from another server would tell that server who reads this page.
  img: ({ src, alt }) =>
    typeof src === "string" && src !== "" ? (
      <a href={src} target="_blank" rel="noopener noreferrer nofollow" className="link" title={src}>
        Picture: {alt === undefined || alt === "" ? src : alt}
      </a>
    ) : (
      <span>{alt}</span>
    ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const language = /language-([\w+-]+)/.exec(className ?? "")?.[1];
    const text = typeof children === "string" ? children : "";
    if (language === undefined && !text.includes("\n")) return <code>{children}</code>;
    return <CodeBox code={text.replace(/\n$/, "")} language={language} />;
  },
  table: ({ children }) => (
    <div className="md-table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <input type="checkbox" checked={checked === true} readOnly disabled aria-label="Done" />,
};
