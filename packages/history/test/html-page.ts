/** The elements and the text of a page, as a browser finds them without running scripts. */
export interface Page {
  readonly elements: readonly Element[];
  /** The text that a reader sees, without the style sheet. */
  readonly text: string;
}

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The names of the surrounding elements. */
  readonly path: readonly string[];
  text: string;
}

const empty = new Set(["meta", "!doctype", "br", "hr", "img"]);
/** Elements that contain only text up to their closing tag. */
const raw = new Set(["style", "title", "script", "textarea", "xmp", "iframe", "noscript", "plaintext"]);

/** Parses a page. Throws if a browser would have to guess, for example because a closing tag is missing. */
export function parsePage(html: string): Page {
  const elements: Element[] = [];
  const open: Element[] = [];
  let text = "";
  for (let at = 0; at < html.length;) {
    const bracket = html.indexOf("<", at);
    const plain = html.slice(at, bracket < 0 ? html.length : bracket);
    if (plain.includes(">")) throw new Error(`a stray bracket in ${plain.slice(0, 80)}`);
    text += decode(plain);
    const around = open.at(-1);
    if (around) around.text += decode(plain);
    if (bracket < 0) break;
    const tag = /^<(\/?)([A-Za-z!][A-Za-z0-9]*)((?:\s+[^\s"'<>=/]+(?:="[^"<>]*")?)*)\s*>/.exec(html.slice(bracket));
    if (!tag) throw new Error(`not a plain tag: ${html.slice(bracket, bracket + 80)}`);
    const [whole, close, spelled = "", pairs = ""] = tag;
    const name = spelled.toLowerCase();
    at = bracket + whole.length;
    if (close) {
      const last = open.pop();
      if (last?.name !== name) throw new Error(`</${name}> closes <${last?.name ?? "nothing"}>`);
      continue;
    }
    const element = { name, attributes: attributesOf(pairs), path: open.map((outer) => outer.name), text: "" };
    elements.push(element);
    if (raw.has(name)) {
      const end = html.toLowerCase().indexOf(`</${name}`, at);
      element.text = name === "title" ? decode(html.slice(at, end)) : html.slice(at, end);
      at = html.indexOf(">", end) + 1;
    } else if (!empty.has(name)) open.push(element);
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)?.name}> is not closed`);
  return { elements, text };
}

function attributesOf(pairs: string): Readonly<Record<string, string>> {
  const found = [...pairs.matchAll(/\s+([^\s"'<>=/]+)(?:="([^"]*)")?/g)];
  return Object.fromEntries(found.map(([, name = "", value = ""]) => [name.toLowerCase(), decode(value)]));
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function decode(text: string): string {
  return text.replaceAll(/&([a-z]+|#\d+);/g, (whole, name: string) => entities[name] ?? whole);
}
