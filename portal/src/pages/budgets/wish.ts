/** A budget as a form has it, as it is sent, and as the command line has it. */
import type { BudgetLine, BudgetWish } from "../../api/schema";
import { word } from "../../ui/text";

export interface BudgetForm {
  amount: string;
  zone: string;
  carry: boolean;
  warn: string;
  graceMin: string;
}

const MICRO = 1_000_000;

/** Millionths of an amount as `2500.50`; null = it is none. */
export function microOf(amount: string): number | null {
  const parts = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(amount.trim().replaceAll(",", ""));
  return parts ? Number(parts[1]) * MICRO + Number((parts[2] ?? "").padEnd(6, "0")) : null;
}

export function amountOf(micro: number): string {
  return String(micro / MICRO);
}

export function formOf(line: BudgetLine | undefined): BudgetForm {
  return {
    amount: line ? amountOf(line.micro) : "",
    zone: line?.zone ?? "UTC",
    carry: line?.carry_over ?? false,
    warn: (line?.warn ?? [50, 80, 95]).join(","),
    graceMin: String(Math.round((line?.grace_ms ?? 900_000) / 60_000)),
  };
}

/** What is sent; a text = what is wrong with the form. */
export function wishOf(form: BudgetForm): BudgetWish | string {
  const micro = microOf(form.amount);
  if (micro === null) return "Write an amount of money as 2500 or 2500.50.";
  const warn = form.warn.split(",").map((each) => each.trim()).filter(Boolean).map(Number);
  if (warn.some((each) => !Number.isInteger(each) || each < 1 || each > 99))
    return "Write percentages from 1 to 99, as 50,80,95.";
  const grace = Number(form.graceMin);
  if (!Number.isInteger(grace) || grace < 0 || form.graceMin.trim() === "") return "Write the grace in whole minutes.";
  return { micro, zone: form.zone.trim() || "UTC", carry_over: form.carry, warn, grace_ms: grace * 60_000 };
}

/** The command that sets the same budget. */
export function commandOf(queue: string, form: BudgetForm): string {
  return [
    `ganglion budget set ${word(queue)} ${word(form.amount.trim() || "AMOUNT")}`,
    ...(form.zone.trim() && form.zone.trim() !== "UTC" ? [`--zone ${word(form.zone.trim())}`] : []),
    ...(form.carry ? ["--carry-over"] : []),
    ...(form.warn === "50,80,95" ? [] : [`--warn ${word(form.warn.replaceAll(" ", ""))}`]),
    ...(form.graceMin === "15" ? [] : [`--grace ${word(`${form.graceMin}m`)}`]),
  ].join(" ");
}
