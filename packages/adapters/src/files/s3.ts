import type { FileStore } from "@skein/core";
import { KnownError, Uuid } from "@skein/protocol";
import { AwsClient } from "aws4fetch";
import { storedName } from "./safe-name.ts";

export interface S3FileStoreOptions {
  /** The address of the service: `https://s3.eu-central-1.amazonaws.com`, or any other service with the S3 API. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly region?: string;
  /** A prefix for the key of every object, without slashes at its ends. */
  readonly prefix?: string;
  /** The time limit for a request. */
  readonly timeoutMs?: number;
  /** The time limit until the HTTP response begins. The limit grows by a second for each MiB that is sent. */
  readonly answerMs?: number;
}

const MIB = 1024 * 1024;

/** Stores generated files in a bucket as `s3://{bucket}/{prefix}/{session}/{file_id}_{filename}`. */
export function createS3FileStore(options: S3FileStoreOptions): FileStore {
  const { bucket, accessKeyId, secretAccessKey, sessionToken, region = "us-east-1" } = options;
  const { timeoutMs = 60_000, answerMs = 10_000 } = options;
  const client = new AwsClient({
    accessKeyId,
    secretAccessKey,
    region,
    service: "s3",
    retries: 3,
    ...(sessionToken !== undefined && { sessionToken }),
  });
  const root = `s3://${bucket}/${options.prefix === undefined ? "" : `${options.prefix}/`}`;
  const bucketAddress = `${options.endpoint.replace(/\/+$/, "")}/${bucket}`;
  const addressOf = (storagePath: string): string => {
    const key = storagePath.slice(`s3://${bucket}/`.length);
    const escaped = key.split("/").map((part) => encodeURIComponent(part).replaceAll("'", "%27"));
    return `${bucketAddress}/${escaped.join("/")}`;
  };

  async function request(method: string, address: string, body?: Uint8Array<ArrayBuffer>): Promise<Response> {
    // The time limit is short for small files, so that a hanging service delays a step only briefly.
    const silence = new AbortController();
    const most = answerMs + ((body?.byteLength ?? 0) / MIB) * 1000;
    const timer = setTimeout(() => silence.abort(), most).unref();
    const response = await client
      .fetch(address, {
        method,
        signal: AbortSignal.any([silence.signal, AbortSignal.timeout(timeoutMs)]),
        ...(body && { body, headers: { "content-length": String(body.byteLength) } }),
      })
      .catch((error: unknown) => {
        const why = silence.signal.aborted
          ? `did not answer within ${Math.round(most / 1000)} s`
          : "could not be reached";
        throw new KnownError("files_unavailable", `The bucket "${bucket}" ${why}.`, { cause: error });
      })
      .finally(() => clearTimeout(timer));
    if (response.ok) return response;
    const answer = await response.text();
    // A read gets 404 if the file is missing. Every other request gets 404 only if the bucket is missing.
    if (response.status === 404 && (method !== "GET" || answer.includes("NoSuchBucket")))
      throw new KnownError(
        "files_unavailable",
        `There is no bucket "${bucket}". Create it, or correct SKEIN_FILES (s3://BUCKET/PREFIX).`,
      );
    if (response.status === 404) throw new KnownError("not_found", `The file is not in the bucket "${bucket}".`);
    const [code = ""] = elementsIn(answer, "Code");
    throw new KnownError(
      "files_unavailable",
      `The bucket "${bucket}" answered ${method} with status ${response.status}${code === "" ? "" : ` (${code.slice(0, 100)})`}.`,
    );
  }

  /** Lists the first page of the keys that begin with a prefix. */
  async function keysUnder(prefix: string): Promise<readonly string[]> {
    const list = `${bucketAddress}?list-type=2&prefix=${encodeURIComponent(prefix)}`;
    const text = await (await request("GET", list)).text();
    return elementsIn(text, "Key");
  }

  /** Lists the folders directly below the root, page by page. */
  async function* folders(): AsyncIterable<string> {
    const prefix = root.slice(`s3://${bucket}/`.length);
    const list = `${bucketAddress}?list-type=2&delimiter=${encodeURIComponent("/")}&prefix=${encodeURIComponent(prefix)}`;
    for (let next: string | undefined = ""; next !== undefined;) {
      const address = next === "" ? list : `${list}&continuation-token=${encodeURIComponent(next)}`;
      const text = await (await request("GET", address)).text();
      for (const found of elementsIn(text, "Prefix")) yield found.slice(prefix.length).replace(/\/$/, "");
      [next] = elementsIn(text, "NextContinuationToken");
    }
  }

  return {
    async put({ sessionId, fileId, filename, bytes }) {
      if (!Uuid.safeParse(sessionId).success)
        throw new KnownError("invalid", `"${sessionId}" is not the id of a session. Expected a UUID.`);
      const storagePath = `${root}${sessionId}/${storedName(fileId, filename)}`;
      const response = await request("PUT", addressOf(storagePath), new Uint8Array(bytes));
      await response.body?.cancel();
      return { storagePath };
    },
    async get(storagePath) {
      const path = /^[0-9a-f-]{36}\/[^/]+$/.test(storagePath) ? root + storagePath : storagePath;
      if (!path.startsWith(root) || path.split("/").includes(".."))
        throw new KnownError("invalid", "The path of a file must be inside the bucket and prefix.");
      const response = await request("GET", addressOf(path));
      return new Uint8Array(await response.arrayBuffer());
    },
    async deleteSession(sessionId) {
      if (!Uuid.safeParse(sessionId).success) return;
      const prefix = `${root}${sessionId}/`.slice(`s3://${bucket}/`.length);
      // The keys of a page are deleted before the next list, so every list has only remaining keys.
      for (let keys = await keysUnder(prefix); keys.length > 0; keys = await keysUnder(prefix))
        for (const key of keys) {
          const response = await request("DELETE", addressOf(`s3://${bucket}/${key}`));
          await response.body?.cancel();
        }
    },
    async check() {
      // The check writes a file, because a bucket may be full or read-only.
      const response = await request("PUT", addressOf(`${root}health-check`), new Uint8Array());
      await response.body?.cancel();
    },
    async *sessions() {
      for await (const name of folders()) if (Uuid.safeParse(name).success) yield name;
    },
  };
}

/** Returns the texts of all XML elements with this name. */
function elementsIn(xml: string, name: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text = ""]) => withoutEntities(text));
}

/** Decodes the entities in the text of an XML element. */
function withoutEntities(text: string): string {
  return text
    .replaceAll(/&#x([0-9a-f]+);/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d+);/g, (_, digits: string) => String.fromCodePoint(Number(digits)))
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}
