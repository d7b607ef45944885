/** One event of a stream: its name, and its data as text. */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * Puts server-sent events together from pieces of text, wherever these are cut. Each call answers what is complete.
 *
 * The client's own stream is three iterators deep, and took longer than the calls it reads.
 */
export function createEventReader(): (piece: string) => readonly ServerSentEvent[] {
  let rest = "";
  let event = "";
  let data: string[] = [];

  function line(text: string, complete: ServerSentEvent[]): void {
    if (text === "") {
      if (data.length > 0) complete.push({ event, data: data.join("\n") });
      [event, data] = ["", []];
      return;
    }
    const colon = text.indexOf(":");
    const field = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }

  return (piece) => {
    const complete: ServerSentEvent[] = [];
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) line(text.endsWith("\r") ? text.slice(0, -1) : text, complete);
    return complete;
  };
}
