/** A canvas in the colours of the present theme, and what lies under the pointer. */
import { useEffect, useRef, useState, type RefObject } from "react";
import { useSettings } from "./settings";

export interface Colors {
  line: string;
  text: string;
  quiet: string;
  surface: string;
  sunken: string;
  free: string;
  used: string;
  usedText: string;
  part: string;
  bad: string;
  closed: string;
  chosen: string;
}

/** The tokens of the present theme, for a canvas. */
function colorsOf(element: HTMLElement): Colors {
  const style = getComputedStyle(element);
  const read = (name: string) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    element.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found || style.color;
  };
  return {
    line: read("--line"),
    text: read("--text"),
    quiet: read("--quiet"),
    surface: read("--surface"),
    sunken: read("--sunken"),
    free: read("--free"),
    used: read("--accent-fill"),
    usedText: read("--accent-fill-text"),
    part: read("--wait"),
    bad: read("--bad"),
    closed: read("--wait"),
    chosen: read("--focus"),
  };
}

/** The width that an element has, in whole pixels; 0 = it is not known yet. */
export function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, [box]);
  return width;
}

/** One of a few hues for a name, the same every time. */
export function hue(name: string): number {
  let found = 0;
  for (const letter of name) found = (found * 31 + letter.charCodeAt(0)) % 360;
  return found;
}

/** A name in at most so many characters: its middle is left out, since names of a fleet differ at their ends. */
export function ends(name: string, most: number): string {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - tail)}…${tail ? name.slice(-tail) : ""}`;
}

/** A name of which a part is left out where it has no room; it is never left out whole. */
export function fitted(context: CanvasRenderingContext2D, name: string, width: number): string {
  const key = `${context.font} ${width} ${name}`;
  const known = FITTED.get(key);
  if (known !== undefined) return known;
  let shown = ends(name, MOST_LETTERS);
  for (let most = shown.length - 1; most > 0 && context.measureText(shown).width > width; most -= 1) shown = ends(name, most);
  if (FITTED.size > MOST_FITTED) FITTED.clear();
  FITTED.set(key, shown);
  return shown;
}

const FITTED = new Map<string, string>();
const MOST_FITTED = 20_000;
const MOST_LETTERS = 60;

export function Drawing(props: {
  width: number;
  height: number;
  label: string;
  /** The same function as long as the same is to be drawn. */
  paint(context: CanvasRenderingContext2D, colors: Colors): void;
  /** Draw what is new over what was painted, in the same colours; false = all has to be painted. */
  over?(context: CanvasRenderingContext2D): boolean;
  /** What is said of a point; empty = nothing is there. */
  said(x: number, y: number): string;
  pick(x: number, y: number): void;
}) {
  const { width, height, label, paint, said, pick } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { theme } = useSettings();
  const shown = useRef("");
  const over = useRef(props.over);
  over.current = props.over;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const look = () => JSON.stringify([width, height, theme, dark.matches, devicePixelRatio]);
    const redraw = () => {
      if (shown.current === look() && over.current?.(context)) return;
      shown.current = look();
      const scale = devicePixelRatio || 1;
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
      element.style.width = `${width}px`;
      element.style.height = `${height}px`;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      paint(context, colorsOf(element.parentElement ?? element));
    };
    const frame = requestAnimationFrame(redraw);
    dark.addEventListener("change", redraw);
    return () => {
      cancelAnimationFrame(frame);
      dark.removeEventListener("change", redraw);
    };
  }, [width, height, paint, theme]);
  const at = (event: React.MouseEvent): [number, number] => {
    const box = canvas.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={label}
      onClick={(event) => pick(...at(event))}
      onMouseMove={(event) => {
        const found = said(...at(event));
        event.currentTarget.style.cursor = found ? "pointer" : "default";
        event.currentTarget.title = found;
      }}
    />
  );
}
