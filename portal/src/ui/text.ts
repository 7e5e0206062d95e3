/** Text of others as it is shown: nothing in it acts, and none of it is endless. */

/** Characters that are shown; of longer text the beginning. */
export const MOST_SHOWN = 200;

// Controls, and marks that turn the direction of text: visible in place of what they do.
const ACTING = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function harmless(text: string, most: number = MOST_SHOWN): string {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return shown.replace(ACTING, (found) => {
    const code = found.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}

/** A line of a log: colours of terminals are left out, tabs stay. */
export function logLine(text: string, most = 10_000): string {
  // eslint-disable-next-line no-control-regex
  const plain = text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*\u0007/g, "");
  const last = plain.replace(/\r+$/, "").split("\r").pop() ?? ""; // as a terminal shows progress
  return last.split("\t").map((each) => harmless(each, most)).join("\t");
}

/** A word of a shell: quoted where it has to be. */
export function word(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Rows as CSV; what a spreadsheet would take for a formula begins with an apostrophe. */
export function csv(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null) => {
    const text = value === null ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function download(name: string, text: string, kind = "text/csv"): void {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
