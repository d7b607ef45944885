/**
 * Passes over plain lines at the speed of machine code, also in a process that has just started and whose JavaScript is
 * still interpreted. The code below is `line-walk.wat`, translated with wabt 1.0 (`wat2wasm`), which says what is plain.
 */
import { machine, type ByteSearch } from "./byte-search.ts";

export interface LineWalk {
  /** Passes plain lines of `buffer()[at, end)` and answers where the first other line starts, or `end`. */
  walk(at: number, end: number): number;
  /** The working directory that is known already: a line with another one is not plain. */
  knowCwd(cwd: string): void;
  /** What was noted since the last call. */
  take(): LineNotes;
}

export interface LineNotes {
  readonly lines: number;
  /** The smallest and the largest time of the lines passed, if one had a time. */
  readonly times: { readonly first: string; readonly last: string } | undefined;
  /** User lines outside of side chains. */
  readonly prompts: number;
  /** Hashes of the ids of answers outside of side chains; an answer may be there more than once. */
  readonly answers: Uint32Array;
  readonly lastTitle: Place | undefined;
  readonly lastPrompt: Place | undefined;
  /** The last line of the conversation, if its time was not seen. */
  readonly untimed: Place | undefined;
}

/** A line in `buffer()`. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

const code =
  "AGFzbQEAAAABJgdgAX8Bf2ACf38Bf2AFf39/f38AYAABf2AAAGABfwBgA39/fwF/Ag8BA2VudgZtZW1vcnkCAAEDERAAAQECAQEBAQEDAQQFBQEGBi4JfwFBAAt/AUEAC38BQQALfwFBAAt/AUEAC38BQQALfwFBAAt/AUEAC38BQQALBwgBBHdhbGsADwqjEBAhAQF7IAD9AAAAIQEgAUEi/Q/9IyABQdwA/Q/9I/1Q/WQLWAEBfyAAQQFqIQACQANAIAAgAU8NASAAEAAhAiACRQRAIABBEGohAAwBCyAAIAJoaiEAIAAgAU8NASAALQAAQSJGBEAgAEEBag8LIABBAmohAAwACwtBAAsyAQF/AkADQCAAIAFPDQEgAC0AACECIAJBLEYNASACQf0ARg0BIABBAWohAAwACwsgAAudAQAgBEUEQCABQQtGIAItAABB9ABGcQRAIAApAABC6ebNysas2bHoAFEEQEEBJAcLCw8LIAFBBEYEQCAAKAAAQfTywasGRgRAIAIkASADJAILDwsgAUEDRgRAIAAvAABB4+4BRiAALQACQeQARnEEQCACJAUgAyQGCw8LIAFBCUYgACkAAEL00rWrto7dsO0AUXEEQCACJAMgAyQECwv0AQEFfyAALQAAQfsARwRAQQAPCwNAIABBAWohAiACLQAAQSJHBEBBAA8LIAIgARABIQMgA0UEQEEADwsgAy0AAEE6RwRAQQAPCyACQQFqIQIgAyACa0EBayEGIANBAWohAyADLQAAIQUgBUH7AEYgBUHbAEZyBEAgBkEHRiACKAAAQe3KzZsHRiACKAADQfPCnasGRnFxJAggAw8LIAVBIkYEQCADIAEQASEEIARFBEBBAA8LIAIgBiADQQFqIARBAWtBARADBSADIAEQAiEEIAIgBiADIARBABADCyAEIQAgAC0AAEEsRg0ACyAALQAAQf0ARgtaAQF/AkADQCAAIAFNDQEgAEEQaxAAIQIgAkUEQCAAQRBrIQAMAQsLIAAgAmdBD2trIQAgACABTQ0AIAAtAABB3ABGDQAgAEEBay0AAEHcAEcEQCAADwsLQQAL8AEBB38gAUEBayECIAItAABB/QBHBEBBAA8LAkADQCACIQMgAkEBayECIAItAABBIkYhByAHBEAgAiAAEAUhBCAERQ0CBQJAA0AgAiAATQ0EIAItAAAhCCAIQTBrQQpJIAhB4QBrQRpJIAhBLWtBAklyckUNASACQQFrIQIMAAsLIAJBAWohBCAEIANGDQILIARBAmshBSAFIABNDQEgBS8AAEGi9ABHDQEgBSAAEAUhBiAGRQ0BIAZBAWshAiACIABNDQEgAi0AAEEsRw0BIAZBAWohBiAGIAUgBmsgBCAHaiADIAdrIAcQAwwACwtBAQuhAgEFfwJAIAAtAABB+wBHDQADQCAAQQFqIQIgAi0AAEEiRw0BIAIgARABIQMgA0UNASADLQAAQTpHDQEgA0EBaiEDIAMtAABBIkYEQCADIAEQASEEIARFDQIFIAMtAABB+wBGDQIgAy0AAEHbAEYNAiADIAEQAiEECyACKAAAQaLSkZMCRgRAIAMtAABBIkcNAkHFu/KIeCEFIANBAWohAyAEQQFrIQQDQCADIARJBEAgBSADLQAAc0GTg4AIbCEFIANBAWohAwwBCwsjACgCDCEGIwAgBkECdGohACAGBEAgACgC/A8gBUYEQEEBDwsLIAZBgMAATw0CIAAgBTYCgBAjACAGQQFqNgIMQQEPCyAEIQAgAC0AAEEsRg0ACwtBAAtZAwF/AX4BfyAAQRhqIQIDQCAAKQAAIAEpAACFIQMgA0IAUgRAIAN6QgOIpyEEIAAgBGotAAAgASAEai0AAGsPCyAAQQhqIQAgAUEIaiEBIAAgAkkNAAtBAAtSAQJ/IwVFBEBBAQ8LIwYjBWshASABIwAoAiBHBEBBAA8LAkADQCAAIAFPDQEjBSAAai0AACMAIABqLQCAAUcEQEEADwsgAEEBaiEADAALC0EBCzsAEAlFBEBBAA8LIwNFBEAjACAANgIkIwAgATYCKEEBDwsjBCMDa0EYRwRAQQAPCyMAQQA2AiQQC0EBC0YBAn8jAEHAAGohACMAQeAAaiEBIwAoAgRFIwMgABAIQQBIcgRAIAAQDAsjACgCBEUjAyABEAhBAEpyBEAgARAMC0EEEA0LIAAgACMDKQAANwMAIAAjAykACDcDCCAAIwMpABA3AxALFgAjACAAaiEAIAAgACgCAEEBajYCAAvmAgEDf0EAJAFBACQDQQAkBUEAJAdBACQIIAAgARAEIQIgAkUEQEEADwsgAkEBSwRAIAIgARAGRQRAQQAPCwsjAUUEQEEADwsjAiMBayEEIwEoAAAhAyAEQQRGIANB9eaVkwdGcQRAIAAgARAKRQRAQQAPCyMHRQRAQQgQDQtBAQ8LIARBCUYgA0Hh5s3LBkZxBEAjB0UEQCMIRQRAQQAPCyACIAEQB0UEQEEADwsLIAAgARAKDwsgBEEKRiADQeHo0YsGRnEgBEEGRiADQfPyzaMHRnEgBEEIRiADQfDkvbsGRnFycgRAIAAgARAKDwsgBEEIRiADQeHStaEHRnEEQCMAIAA2AhAjACABNgIUQQEPCyAEQQtGIANB7MLNowdGcQRAIwAgADYCGCMAIAE2AhxBAQ8LIANB8MrJ6wZGIANB7d6RqwZGciADQebSsasGRiADQfHqlasHRiADQePezaMHRnJycgudAQMCfwF7AX8gAiQAQQr9DyEFA0AgACABTwRAIAEPCyAAIQMCQANAIAP9AAAAIAX9I/1kIQQgBARAIAMgBGhqIQMMAgsgA0EQaiEDIAMgAUkNAAsLIAMgAUsEQCABIQMLIANBAWohBiADIABLBEAgA0EBay0AAEENRgRAIANBAWshAwsLIAAgAxAORQRAIAAPC0EAEA0gBiEADAALAAs=";

const maxCwdBytes = 1024;

let compiled: object | undefined;

export function createLineWalk({ machine: { memory, bufferAt, notesAt } }: ByteSearch): LineWalk {
  compiled ??= new machine.Module(Buffer.from(code, "base64"));
  const { exports } = new machine.Instance(compiled, { env: { memory } });
  const walk = exports["walk"] as (at: number, end: number, notes: number) => number;
  const numbers = (): Uint32Array => new Uint32Array(memory.buffer, notesAt, 16);
  return {
    walk: (at, end) => walk(bufferAt + at, bufferAt + end, notesAt) - bufferAt,
    knowCwd(cwd) {
      const text = Buffer.from(cwd);
      // An unlikely path is never known, so each line that has it is read with care.
      numbers()[8] = text.length > maxCwdBytes ? 0 : text.length;
      if (text.length <= maxCwdBytes) text.copy(Buffer.from(memory.buffer, notesAt + 128, maxCwdBytes));
    },
    take() {
      const noted = numbers();
      const [lines = 0, timed = 0, prompts = 0, answers = 0] = noted;
      const placeAt = (which: number): Place | undefined => {
        const start = noted[which] ?? 0;
        return start === 0 ? undefined : { start: start - bufferAt, end: (noted[which + 1] ?? 0) - bufferAt };
      };
      const text = Buffer.from(memory.buffer, notesAt + 64, 64);
      const notes = {
        lines,
        times:
          timed === 0 ? undefined : { first: text.toString("latin1", 0, 24), last: text.toString("latin1", 32, 56) },
        prompts,
        answers: new Uint32Array(memory.buffer, notesAt + 2048, answers).slice(),
        lastTitle: placeAt(4),
        lastPrompt: placeAt(6),
        untimed: placeAt(9),
      };
      noted.fill(0, 0, 8);
      noted[9] = 0;
      return notes;
    },
  };
}
