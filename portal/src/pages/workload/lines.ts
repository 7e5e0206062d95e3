/** What of curves is drawn, and where. */
import type { CurveView } from "../../api/schema";

interface Sort {
  title: string;
  unit: string;
  per: number;
  /** The upper end of its scale; undefined = its greatest value. */
  most?: number;
}

const USED: Record<string, Sort> = {
  gpu_busy_milli: { title: "GPUs active", unit: "%", per: 10, most: 100 },
  gpu_memory_mib: { title: "GPU memory", unit: "MiB", per: 1 },
  power_mw: { title: "Power of its GPUs", unit: "W", per: 1000 },
  cpu_milli: { title: "CPU", unit: "cores", per: 1000 },
  memory_mib: { title: "Memory", unit: "MiB", per: 1 },
};

export interface Drawn {
  key: string;
  title: string;
  unit: string;
  /** Whether its points lie at steps, which a program counts, or at times. */
  by: "step" | "time";
  at: readonly number[];
  values: readonly number[];
  least: number;
  most: number;
}

/** A curve as it is drawn: in a unit for people, by step where all of its points have one. */
export function drawn(curve: CurveView): Drawn {
  const known = curve.kind === "used" ? USED[curve.name] : undefined;
  const large = known?.unit === "MiB" && Math.max(...curve.values) >= 1024;
  const sort = known && large ? { ...known, unit: "GiB", per: 1024 } : known;
  const values = curve.values.map((each) => each / (sort?.per ?? 1));
  const stepped = curve.kind === "reported" && rising(curve.steps);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // What is used begins at nothing; what a program reports has a scale of its own.
  const [least, most] = sort ? [0, sort.most ?? high] : [low, high];
  return {
    key: `${curve.kind}/${curve.name}`,
    title: sort?.title ?? curve.name,
    unit: sort?.unit ?? "",
    by: stepped ? "step" : "time",
    at: stepped ? curve.steps : curve.times,
    values,
    least,
    most: most > least ? most : least + 1,
  };
}

function rising(steps: readonly number[]): boolean {
  return steps.length > 1 && steps.every((each, n) => each > 0 && (n === 0 || each > (steps[n - 1] as number)));
}

/** The corners of a line in a box of 100 by 40, upper left first; one point alone is a line across, as high as it is. */
export function corners(line: Pick<Drawn, "at" | "values" | "least" | "most">): string {
  const [only] = line.values;
  if (line.values.length === 1 && only !== undefined) {
    const { least, most } = line;
    return corners({ at: [0, 1], values: [only, only], least, most });
  }
  const [first, last] = [line.at[0] ?? 0, line.at.at(-1) ?? 0];
  const length = Math.max(1, last - first);
  return line.values
    .map((each, n) => {
      const x = (100 * ((line.at[n] ?? first) - first)) / length;
      const y = 40 - (40 * (each - line.least)) / (line.most - line.least);
      return `${Math.round(x * 100) / 100},${Math.round(y * 100) / 100}`;
    })
    .join(" ");
}
