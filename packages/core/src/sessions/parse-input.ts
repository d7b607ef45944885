import { KnownError, nearestName } from "@skein/protocol";
import type { z } from "zod";
import { plainIssue } from "./plain-issues.ts";

/** Throws an `invalid` error if the input is invalid. The error names the path of the wrong field. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, { error: plainIssue });
  if (result.success) return result.data;
  // Errors about unknown keys come first. If a key is misspelt, the other error (that the right key is missing) helps
  // less.
  const unknown = result.error.issues.filter(({ code }) => code === "unrecognized_keys");
  const issues = [...new Set([...unknown, ...result.error.issues])].map((issue) => ({
    path: issue.path.join("."),
    message: issue.code === "unrecognized_keys" ? unknownKeys(schema, issue) : issue.message,
  }));
  const [first] = issues;
  throw new KnownError(
    "invalid",
    `${first?.path ? `${first.path}: ` : ""}${first?.message ?? "The input is not valid."}`,
    {
      details: { issues },
    },
  );
}

/** One sentence for each unknown key, with the known key that is most similar. */
function unknownKeys(schema: z.ZodType, { path, keys }: z.core.$ZodIssueUnrecognizedKeys): string {
  const known = keysAt(schema, path);
  const plain = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, "");
  return keys
    .map((key) => {
      // A text this long is not a misspelt key, and comparing it would take long.
      const near = key.length > 100 ? undefined : nearestName(plain(key), known.map(plain));
      const nearest = known.find((name) => plain(name) === near);
      return `Unknown key "${key}".${nearest === undefined ? "" : ` Did you mean "${nearest}"?`}`;
    })
    .join(" ");
}

/** Returns the keys of the object schema at a path, or no keys if another kind of schema is at the path. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  const { def } = schema._zod as unknown as { def: Definition };
  if (def.innerType) return keysAt(def.innerType, path);
  if (def.in) return keysAt(def.in, path);
  if (def.options) return def.options.flatMap((option) => keysAt(option, path));
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(def.shape ?? {});
  const inner = def.shape?.[String(first)] ?? def.element ?? def.valueType;
  return inner ? keysAt(inner, rest) : [];
}

/** The fields of a Zod definition that contain other schemas. */
interface Definition {
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
}
