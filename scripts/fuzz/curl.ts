import { gzipSync } from "node:zlib";
import type { FuzzRequest } from "./requests.ts";

/** Returns a shell command that sends the request. The command does not contain the key. */
export function curlOf({ method, path, headers, body, sender }: FuzzRequest, url: string): string {
  const key = sender === "nobody" ? [] : [`-H "X-API-Key: $SKEIN_API_KEY"`];
  const rest = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const line = ["curl", "-sS", "--path-as-is", "-X", method, ...key, ...rest, quoted(`${url}${path}`)].join(" ");
  if (body === undefined) return line;
  if (typeof body === "string" && body.length < 4000 && /^[\x20-\x7e]*$/.test(body))
    return `${line} --data-binary ${quoted(body)}`;
  const packed = gzipSync(body).toString("base64");
  return `echo ${packed} | base64 -d | gunzip | ${line} --data-binary @-`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
