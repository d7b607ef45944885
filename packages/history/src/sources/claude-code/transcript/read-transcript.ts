import type { ParsedLine } from "../../../scan/parse-line.ts";
import type { FileDamage, Message } from "../../../model/types.ts";
import { createMessageBuilder } from "./to-message.ts";
import { readTranscriptRecords } from "./transcript-records.ts";

export interface Transcript {
  readonly messages: readonly Message[];
  readonly damage: readonly FileDamage[];
}

export function readTranscript(path: string, fallbackTime: Date): Transcript {
  const messages: Message[] = [];
  const damage: FileDamage[] = [];
  const builder = createMessageBuilder(fallbackTime);
  readTranscriptRecords(path, {
    line: (line: ParsedLine) => {
      const message = builder.add(line);
      if (message) messages.push(message);
    },
    damage: (found) => damage.push({ path, ...found }),
  });
  return { messages, damage };
}
