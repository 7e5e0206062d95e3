/** Numbers and times for people. */

export function gpus(milli: number): string {
  return count(milli / 1000);
}

/** GPU-microseconds, as the server meters, in GPU-hours. */
export function gpuHours(us: number): number {
  return Math.round(us / 36_000_000) / 100;
}

export function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}

export function plural(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}

export function memory(mib: number): string {
  return mib >= 1024 ? `${count(Math.round((mib / 1024) * 10) / 10)} GiB` : `${count(mib)} MiB`;
}

const STEPS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A duration in its two largest units. */
export function duration(ms: number): string {
  let left = Math.max(0, Math.round(ms / 1000) * 1000);
  const parts: string[] = [];
  for (const [size, unit] of STEPS) {
    const whole = Math.floor(left / size);
    left -= whole * size;
    if (whole || parts.length) parts.push(whole ? `${whole} ${unit}` : "");
    if (parts.length === 2) break;
  }
  return parts.filter(Boolean).join(" ") || "0 s";
}

export function relative(at: number, now: number): string {
  if (Math.abs(at - now) < 1_000) return "now";
  return at > now ? `in ${duration(at - now)}` : `${duration(now - at)} ago`;
}

export type Zone = "local" | "utc";

export function absolute(at: number, now: number, zone: Zone): string {
  const day = (ms: number) =>
    new Date(ms).toLocaleDateString("en-CA", zone === "utc" ? { timeZone: "UTC" } : {});
  const time = new Date(at).toLocaleTimeString("en-GB", {
    ...(zone === "utc" ? { timeZone: "UTC" } : {}),
    hour12: false,
  });
  const suffix = zone === "utc" ? " UTC" : "";
  return (day(at) === day(now) ? time : `${day(at)} ${time}`) + suffix;
}

export function money(micro: number, currency: string): string {
  const value = micro / 1_000_000;
  try {
    return value.toLocaleString("en", { style: "currency", currency });
  } catch {
    return `${count(value)} ${currency}`.trim();
  }
}
