/** Requests to the server: problems of RFC 9457 become errors, its clock is followed. */
import { parsed } from "./pieces";
import type { Gets, Health, WhoAmI } from "./schema";

const PREFIX = "/api/v1";

export interface Trouble {
  key: string;
  detail: string;
  hint: string;
  line: number;
}

/** The server refuses, and says why. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly hint: string,
    readonly errors: Trouble[] = [],
  ) {
    super(detail);
  }
}

/** No server answers. */
export class Gone extends Error {}

let csrf = "";
let skewMs = 0;

/** The time of the server in ms, as far as its answers tell. */
export function serverNow(): number {
  return Date.now() + skewMs;
}

/** How far the clock of this browser is behind that of the server, in ms. */
export function skew(): number {
  return skewMs;
}

type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export function address(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) params.append(key, String(each));
  }
  const text = params.toString();
  return `${PREFIX}${path}${text ? `?${text}` : ""}`;
}

/** Part of a path; slashes stay, since `job/3` is one gang. */
export function part(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}

/** `but`: a status that is an answer too. */
export async function send(url: string, init: RequestInit = {}, but = 0): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Gone("the server does not answer");
  }
  const date = Date.parse(response.headers.get("date") ?? "");
  if (!Number.isNaN(date)) {
    // The header has whole seconds: what lies within one is no difference.
    const found = date - Date.now();
    skewMs = Math.abs(found - skewMs) > 2_000 ? (Math.abs(found) > 2_000 ? found : 0) : skewMs;
  }
  if (response.ok || response.status === but) return response;
  throw await problemOf(response);
}

export async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = await response.json();
    return new Problem(
      response.status,
      String(body.code ?? ""),
      String(body.detail ?? response.statusText),
      String(body.hint ?? ""),
      Array.isArray(body.errors) ? body.errors : [],
    );
  } catch {
    return new Problem(response.status, "", `the server answers ${response.status}`, "");
  }
}

/** Read what a path of the OpenAPI document answers; `{ref}` in it is filled in. */
export async function get<Path extends keyof Gets>(
  path: Path,
  names: Record<string, string> = {},
  query: Query = {},
  signal?: AbortSignal,
): Promise<Gets[Path]> {
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => part(names[key] ?? ""));
  const response = await send(address(filled, query), signal ? { signal } : {});
  return (await response.json()) as Gets[Path];
}

/** Read a list of any length, whose items begin with the key `first`. */
export async function getLong<Path extends keyof Gets>(path: Path, first: string, signal?: AbortSignal): Promise<Gets[Path]> {
  const response = await send(address(path), signal ? { signal } : {});
  return parsed<Gets[Path]>(await response.text(), first, signal);
}

interface Conditions {
  query?: Query;
  key?: string;
  /** Only where it is still this one. */
  etag?: string;
  /** Only where it is not there yet. */
  fresh?: boolean;
  signal?: AbortSignal;
  /** Sent even where the page is left. */
  leaving?: boolean;
}

type Method = "POST" | "PUT" | "PATCH" | "DELETE";

/** Change something; the header shows that the request comes from this page. */
export async function change<T>(method: Method, path: string, body?: unknown, more: Conditions = {}): Promise<T> {
  return (await changed<T>(method, path, body, more)).found;
}

/** The same, with the tag of what it is now. */
export async function changed<T>(
  method: Method,
  path: string,
  body?: unknown,
  more: Conditions = {},
): Promise<{ found: T; etag: string }> {
  const headers: Record<string, string> = { "X-CSRF-Token": csrf };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (more.key) headers["Idempotency-Key"] = more.key;
  if (more.etag) headers["If-Match"] = more.etag;
  if (more.fresh) headers["If-None-Match"] = "*";
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (more.signal) init.signal = more.signal;
  if (more.leaving) init.keepalive = true;
  const response = await send(address(path, more.query), init);
  return { found: (await response.json()) as T, etag: response.headers.get("etag") ?? "" };
}

export async function whoAmI(): Promise<WhoAmI> {
  const me = await get("/whoami");
  csrf = me.csrf;
  return me;
}

/** What is served: which build, and how its users sign in. */
export interface About {
  build: string;
  version: string;
  sign_in: "link" | "pages";
}

export async function about(): Promise<About> {
  return (await (await send("/portal.json", { cache: "no-store" })).json()) as About;
}

/** What the server finds of itself; what it finds wrong is an answer, with status 503. */
export async function readiness(signal?: AbortSignal): Promise<Health> {
  return (await (await send("/readyz", signal ? { signal } : {}, 503)).json()) as Health;
}

/** Exchange the one-time code of a link for a session. */
export async function enter(code: string): Promise<void> {
  await send("/login/portal", { method: "POST", body: new URLSearchParams({ code }) });
}

export async function signOut(): Promise<void> {
  await send("/logout", { method: "POST", body: new URLSearchParams({ csrf }) });
}
