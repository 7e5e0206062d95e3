/** Numbers and times for people. */

export function gpus(milli: number): string {
  return count(milli / 1000);
}

/** GPU-microseconds, as the server meters, in GPU-hours. */
export function gpuHours(us: number): number {
  return Math.round(us / 360_000) / 10_000;
}

/** GPU-hours with as many decimals in every row; what is too little for them is not nothing. */
export function hours(value: number): string {
  if (value > 0 && value < 0.005) return "< 0.01";
  return value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}

export function plural(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}

/** Numbers in order, runs of three and more as their ends: `0–3, 6`. */
export function ranges(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const each of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && each <= last[1] + 1) last[1] = each;
    else runs.push([each, each]);
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`)).join(", ");
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

const YEAR = 31_557_600_000;

/** How far a moment is: one unit, two where the first is a small number of hours or days. */
function distance(ms: number): string {
  const rounded = (unit: number) => Math.round(ms / unit) * unit;
  if (ms < 59_500) return duration(ms);
  if (ms < 3 * 3_600_000) return duration(rounded(60_000));
  if (ms < 3 * 86_400_000) return duration(rounded(3_600_000));
  return ms < 2 * YEAR ? duration(rounded(86_400_000)) : `${count(Math.round(ms / YEAR))} y`;
}

export function relative(at: number, now: number): string {
  if (Math.abs(at - now) < 1_000) return "now";
  return at > now ? `in ${distance(at - now)}` : `${distance(now - at)} ago`;
}

/** Two lengths of time as from and to: `5 min – 2 h`; what is over is `now`. */
export function span(from: number, to: number): string {
  const [soon, late] = [from, to].map((each) => (each < 1_000 ? "now" : distance(each)));
  return soon === late ? `${late}` : `${soon} – ${late}`;
}

/** `local`, `utc`, or a name as `Europe/Berlin`. */
export type Zone = string;

const FORMATS = new Map<Zone, Intl.DateTimeFormat>();

/** Day, time to the second, and zone, as parts of a date. */
function formatOf(zone: Zone): Intl.DateTimeFormat {
  const known = FORMATS.get(zone);
  if (known) return known;
  const made = parts(zone === "local" ? {} : { timeZone: zone === "utc" ? "UTC" : zone });
  FORMATS.set(zone, made);
  return made;
}

/** Whether this browser knows a zone. */
export function isZone(text: string): boolean {
  try {
    formatOf(text);
    return true;
  } catch {
    return false;
  }
}

/** The parts of a moment on the clocks of a zone. */
function partsOf(at: number, zone: Zone): Record<string, string> {
  return Object.fromEntries(formatOf(zone).formatToParts(at).map((each) => [each.type, each.value]));
}

/** How far the clocks of a zone are ahead of UTC at a moment, in ms. */
export function aheadOf(at: number, zone: Zone): number {
  const found = partsOf(at, zone);
  const [year = 0, month = 1, ...rest] = ["year", "month", "day", "hour", "minute", "second"].map((each) => Number(found[each]));
  return Date.UTC(year, month - 1, ...rest) - Math.floor(at / 1000) * 1000;
}

function parts(more: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const two = "2-digit";
  return new Intl.DateTimeFormat("en-GB", {
    ...{ year: "numeric", month: two, day: two, hour: two, minute: two, second: two },
    ...{ hour12: false, timeZoneName: "short", ...more },
  });
}

/** A moment as a clock shows it, with the zone; of another day than now the date, without seconds. */
export function absolute(at: number, now: number, zone: Zone, estimate = false): string {
  const day = (of: Record<string, string>) => `${of["year"]}-${of["month"]}-${of["day"]}`;
  const [then, today] = [partsOf(at, zone), partsOf(now, zone)];
  const same = day(then) === day(today);
  const time = `${then["hour"]}:${then["minute"]}`;
  const shown = same ? (estimate ? time : `${time}:${then["second"]}`) : `${day(then)} ${time}`;
  return `${shown} ${then["timeZoneName"]?.replace("GMT", "UTC")}`;
}

export function money(micro: number, currency: string): string {
  const value = micro / 1_000_000;
  try {
    return value.toLocaleString("en", { style: "currency", currency });
  } catch {
    return `${count(value)} ${currency}`.trim();
  }
}
