/**
 * Reads answers in their usual form, and creates few strings. `readAnyAnswer` reads answers in every form with the same
 * result, but takes several times as long.
 *
 * The constant `code` below is WebAssembly: `plain-answer.wat`, translated with wabt 1.0 (`wat2wasm`). That file
 * describes the usual form.
 */
import { machine, type ByteSearch } from "../../../scan/byte-search.ts";
import { addCall, column, newCall, raise, valueOf, type UsageTable } from "../../../usage/usage-table.ts";
import { isStringAt, stringAt, timeAt } from "./counters.ts";

const call = newCall();

export interface HitLine {
  readonly start: number;
  readonly end: number;
  /** The position of the only `usage` in the line. */
  readonly hit: number;
}

/**
 * Adds the call of a line in the memory of `search`. Returns false if the line has another form. The caller must then
 * use `readAnyAnswer`.
 */
export function readPlainAnswer(table: UsageTable, search: ByteSearch, { start, end, hit }: HitLine): boolean {
  const { read, places, numbers } = readerOf(search);
  const { bufferAt } = search.machine;
  if (read(bufferAt + start, bufferAt + end, bufferAt + hit, outAt) === 0) return false;
  const bytes = search.buffer();
  const at = (which: number): number => (places[which] ?? 0) - bufferAt;
  if (at(place.idStart) === at(place.idEnd)) return false;
  if (isStringAt(bytes, at(place.modelStart), at(place.modelEnd), "<synthetic>")) return true;
  for (let i = 0; i < counters; i += 1) call.numbers[i] = numbers[i] ?? 0;
  call.numbers[column.flags] = places[place.flags] ?? 0;
  const hasTime = places[place.timeStart] !== 0;
  call.numbers[column.time] = hasTime ? timeAt(bytes, at(place.timeStart), at(place.timeEnd)) : 0;
  const hasRequest = places[place.requestStart] !== 0;
  const requestStart = hasRequest ? at(place.requestStart) : 0;
  const requestEnd = hasRequest ? at(place.requestEnd) : 0;
  const last = table.ids.length - 1;
  const isLast =
    last >= 0 &&
    isStringAt(bytes, at(place.idStart), at(place.idEnd), table.ids[last] ?? "") &&
    isStringAt(bytes, requestStart, requestEnd, table.requestIds[last] ?? "");
  if (isLast) {
    raise(table, last, call.numbers);
    return true;
  }
  call.id = stringAt(bytes, at(place.idStart), at(place.idEnd));
  call.requestId = stringAt(bytes, requestStart, requestEnd);
  // Most calls of a session use one model, so the name of the last model is reused.
  const model = table.models[last < 0 ? 0 : valueOf(table, last, column.model)] ?? "";
  const isSameModel = isStringAt(bytes, at(place.modelStart), at(place.modelEnd), model);
  call.model = isSameModel ? model : stringAt(bytes, at(place.modelStart), at(place.modelEnd));
  addCall(table, call);
  return true;
}

/** The places of the values that the WebAssembly code writes. Positions and flags come first, and then the counters. */
const place = {
  idStart: 0,
  idEnd: 1,
  modelStart: 2,
  modelEnd: 3,
  requestStart: 4,
  requestEnd: 5,
  timeStart: 6,
  timeEnd: 7,
  flags: 8,
} as const;
const outAt = 4640;
const countersAt = outAt + 40;
const counters = 7;

type Read = (start: number, end: number, hit: number, out: number) => number;

interface Reader {
  readonly read: Read;
  readonly memory: ArrayBuffer;
  readonly places: Int32Array;
  readonly numbers: Float64Array;
}

const code =
  "AGFzbQEAAAABJwZgBH9/f38Bf2ADf39/AX9gA39/fwBgAX8Bf2ACf38Bf2ACf38BfAIPAQNlbnYGbWVtb3J5AgABAxQTAAEBAgIBAAMEAwUEBAMEBAQEBAYaBX8BQQALfwFBAAt/AUEAC38BQQALfwFBAAsHCgEGYW5zd2VyAAAKsxATyAEBA39BACQCQQAkBCADQQBB4AD8CwAgACABIAMQASEFIAVFBEBBAA8LIAUgASADEAIhBCAERQRAQQAPCyMEQQlGIwMpAABC4ebNy7aO3bDuAFEjAy0ACEH0AEZxcUUEQEEADwsgAikAAEKi6s2L9qyZkTpSBEBBAA8LIAIgBUkgAiAES3IEQEEADwsgAkEIaiAEIANBABAGIQYgBkUjAnIEQEEADwsgBUEBaiACEAsgBiAEEAxxRQRAQQAPCyAFQQFqIAIgAxAFC3ABA38gAC0AAEH7AEcEQEEADwsDQCAAQQFqIAEQDiEDIANFBEBBAA8LIAMtAAAhBCAEQfsARgRAIANBAEGgIEEHEAgbDwsgAyABEA8hBSAFRQRAQQAPCyADIAUgAhADIAUhACAALQAAQSxGDQALQQALkQEBBX8gAUEBayEDIAMtAABB/QBHBEBBAA8LA0AgAyEEIAMhBiADQQFrIAAQESEFIAVFBEAgBA8LIAVBAmsvAABBovQARwRAIAQPCyAFQQJrIAAQEiEHIAdFBEAgBA8LIAdBAWshAyADLQAAQSxHBEAgBA8LIAdBAWokACAFIAdrQQNrJAEgBSAGIAIQAwwACwALkgEBAX8gAC0AAEEiRiEDIwFBBEYEQCADQYAgQQQQCHEEQCAAQQFqJAMgASAAa0ECayQECw8LIwFBCUYEQCADRQRADwtBwCBBCRAIBEAgACABIAJBEGoQBAtB4CBBCRAIBEAgACABIAJBGGoQBAsPC0GAIUELEAgEQCAALQAAQfQARgRAIAIgAigCIEECcjYCIAsLCxYAIAIgAEEBajYCACACIAFBAWs2AgQLnAEBA38DQCAAIAEQDiEDIANFBEBBAA8LIAMtAAAhBCAEQfsARiAEQdsARnIEQEEADwsgAyABEA8hBSAFRQRAQQAPCyAEQSJGBEBBoCFBAhAIBEAgAyAFIAIQBAtBwCFBBRAIBEAgAyAFIAJBCGoQBAsgAigCAEEARyACKAIIQQBHcQRAQQEPCwsgBUEBaiEAIAUtAABBLEYNAAtBAAvkAQEDfyAALQAAQfsARwRAQQAPCyAALQABQf0ARgRAIABBAmoPCwNAIABBAWogARAOIQQgBEUEQEEADwtBACEFIAMQByEGIAYEQCACIAZqIAQgARAKOQMACyADRQRAQeAhQQ4QCEGAIkEPEAhyBEAgBC0AAEH7AEYEQCAEIAEgAkEBEAYhBSAFRQRAQQAPCwsLQaAiQQUQCCAEEAlxBEAgAiACKAIgQQFyNgIgCwsgBUUEQCAEIAEQDyEFCyAFRQRAQQAPCyAFIQAgAC0AAEEsRg0ACyAAQQFqQQAgAC0AAEH9AEYbC2sAIAAEQEHAI0EZEAgEQEHIAA8LQeAjQRkQCARAQdAADwtBgCRBExAIBEBB2AAPC0EADwtBwCJBDBAIBEBBKA8LQeAiQQ0QCARAQTAPC0GAI0EbEAgEQEE4DwtBoCNBFxAIBEBBwAAPC0EAC0MBAX8jASABRwRAQQAPC0EBIAF0QQFrIQIgAiACIwD9AAAAIAD9AAAA/SP9ZCMA/QAAECAA/QAAEP0j/WRBEHRycUYLGQAgACgAAEGizIWbB0YgAC8ABEH0xABGcQtiAgF+An8gACEEAkADQCAALQAAQTBrIQMgA0EJSw0BIAJCCn4gA618IQIgAEEBaiEADAALCyAALQAAIQMgACAERiAAIARrQQ9LciADQSxGIANB/QBGckVyBEBBASQCCyACugtNAQJ/A0AgAC0AACECIAJBIkYEQCAAIAEQECEAIABFBEBBAA8LBSAAQQFqIQAgAyACEA1qIQMgA0EASARAQQAPCwsgACABSQ0ACyADRQtQAQJ/A0AgACABTwRAQQAPCyAALQAAIQIgAkEiRgRAIAAgARAQIQAgAEUEQEEADwsMAQsgAEEBaiEAIAMgAhANaiEDIANBAE4NAAsgACABRgsWACAAQSByIQAgAEH7AEYgAEH9AEZrC0cBAX8gAC0AAEEiRwRAQQAPCyAAIAEQECECIAJFBEBBAA8LIAItAABBOkcEQEEADwsgAEEBaiQAIAIgAGtBAmskASACQQFqC7YBAQN/IAAhBCAALQAAQSJGBEAgACABEBAPCyAALQAAEA1BAUYEQANAIAAgAU8EQEEADwsgAC0AACECIAJBIkYEQCAAIAEQECEAIABFBEBBAA8LDAELIABBAWohACADIAIQDWohAyADDQALIAAPCyAALQAAQSBNBEBBAA8LA0AgACABTwRAQQAPCyAALQAAIQIgAkEsRyACQSByQf0AR3EEQCAAQQFqIQAMAQsLQQAgACAAIARGGwtzAgF7AX8gAEEBaiEAA0AgACABTwRAQQAPCyAA/QAAACECIAJBIv0P/SMgAkHcAP0P/SP9UP1kIQMgA0UEQCAAQRBqIQAMAQsgACADaGohACAALQAAQdwARgRAIABBAmohAAwBCwsgAEEBakEAIAAgAUkbC2kBAn8gAC0AAEEiRgRAIAAgARASDwsgACEDAkADQCAALQAAIQIgAkHhAGtBGkkgAkEwa0EKSXIgAkEuRiACQS1GcnJFDQEgAEEBayEAIAAgAUsNAAsLQQAgAEEBaiAAIANGIAAgAU1yGwtzAgF7AX8DQCAAQRBrIQAgAP0AAAAhAiACQSL9D/0jIAJB3AD9D/0j/VD9ZCEDIANFBEAgACABSw0BQQAPCwsgAEEfIANna2ohACAAIAFNBEBBAA8LIAAtAABB3ABGIABBAWstAABB3ABGcgRAQQAPCyAACwvIAhEAQYAgCwR0eXBlAEGgIAsHbWVzc2FnZQBBwCALCXJlcXVlc3RJZABB4CALCXRpbWVzdGFtcABBgCELC2lzU2lkZWNoYWluAEGgIQsCaWQAQcAhCwVtb2RlbABB4CELDmNhY2hlX2NyZWF0aW9uAEGAIgsPc2VydmVyX3Rvb2xfdXNlAEGgIgsFc3BlZWQAQcAiCwxpbnB1dF90b2tlbnMAQeAiCw1vdXRwdXRfdG9rZW5zAEGAIwsbY2FjaGVfY3JlYXRpb25faW5wdXRfdG9rZW5zAEGgIwsXY2FjaGVfcmVhZF9pbnB1dF90b2tlbnMAQcAjCxllcGhlbWVyYWxfNW1faW5wdXRfdG9rZW5zAEHgIwsZZXBoZW1lcmFsXzFoX2lucHV0X3Rva2VucwBBgCQLE3dlYl9zZWFyY2hfcmVxdWVzdHM=";

let compiled: object | undefined;
const readers = new WeakMap<ByteSearch, Reader>();

function readerOf(search: ByteSearch): Reader {
  const known = readers.get(search);
  const { memory } = search.machine;
  // If the memory has grown, it has a new buffer, and the arrays must be made again.
  if (known?.memory === memory.buffer) return known;
  compiled ??= new machine.Module(Buffer.from(code, "base64"));
  const read = known?.read ?? (new machine.Instance(compiled, { env: { memory } }).exports["answer"] as Read);
  const made = {
    read,
    memory: memory.buffer,
    places: new Int32Array(memory.buffer, outAt, 9),
    numbers: new Float64Array(memory.buffer, countersAt, counters),
  };
  readers.set(search, made);
  return made;
}
