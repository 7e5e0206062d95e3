/** A workload file as text, and a few of its fields. */
import { parseDocument, stringify, type Document } from "yaml";

export interface Parsed {
  document: Document;
  /** What is sent; null = the text is no mapping. */
  body: Record<string, unknown> | null;
  trouble: string;
}

export function parsed(text: string): Parsed {
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error) return { document, body: null, trouble: error.message };
  let body: unknown;
  try {
    body = document.toJS({ maxAliasCount: 100 });
  } catch (found) {
    return { document, body: null, trouble: (found as Error).message }; // aliases of aliases
  }
  if (body === null || typeof body !== "object" || Array.isArray(body))
    return { document, body: null, trouble: text.trim() ? "A file has keys and values, as `run: …`." : "" };
  return { document, body: body as Record<string, unknown>, trouble: "" };
}

export const FIELDS = [
  { path: ["name"], label: "Name", hint: "lower-case letters, digits, dashes" },
  { path: ["queue"], label: "Queue", hint: "the usual one" },
  { path: ["run"], label: "Command", hint: "run by the shell" },
  { path: ["nodes"], label: "Nodes", hint: "4, or 2..4" },
  { path: ["resources", "gpus"], label: "GPUs per node", hint: "8, H100:8, 0.5" },
  { path: ["time_limit"], label: "Time limit", hint: "2h" },
  { path: ["priority"], label: "Priority", hint: "0 to 100, or high" },
] as const;

export type Path = readonly (string | number)[];
export type Value = string | number | boolean;

export function fieldOf(file: Parsed, path: Path): string {
  const found = file.document.errors.length ? undefined : file.document.getIn(path);
  return found === undefined || found === null || typeof found === "object" ? "" : String(found);
}

/** The text with one field changed; comments and all else stay. */
export function withField(text: string, path: Path, value: Value): string {
  const { document, body } = parsed(text);
  if (document.errors.length || (body === null && text.trim())) return text;
  const given = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (body === null) return value === "" ? "" : stringify(nested(path, given));
  if (given !== "") document.setIn(path, given);
  else {
    document.deleteIn(path);
    // What held nothing else goes too.
    for (let above = path.slice(0, -1); above.length && emptied(document.getIn(above)); above = above.slice(0, -1))
      document.deleteIn(above);
  }
  return document.toString({ lineWidth: 0 });
}

function nested(path: Path, value: Value): Record<string, unknown> {
  const [first = "", ...rest] = path;
  return { [first]: rest.length ? nested(rest, value) : value };
}

function emptied(node: unknown): boolean {
  return typeof node === "object" && node !== null && "items" in node && !(node.items as unknown[]).length;
}
